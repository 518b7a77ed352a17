/* The barrier: every thread waits here until the transfer starts or is called off. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gate;

struct gate *gate_create(void);
void gate_destroy(struct gate *gate);

/* The first caller's time is the start of the transfer; true for that caller. */
bool gate_open(struct gate *gate, uint64_t start_ns);
/* Wakes everybody; later waits return at once. */
void gate_cancel(struct gate *gate);

/* False when cancelled. */
bool gate_wait(struct gate *gate, uint64_t *start_ns);
/* Until that time of CLOCK_MONOTONIC; false when cancelled before. */
bool gate_sleep_until(struct gate *gate, uint64_t at_ns);
/* 0 while closed. */
uint64_t gate_start_ns(struct gate *gate);
