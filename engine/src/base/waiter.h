/* Waits for signals, a deadline and sockets at once; the timer is exact to the nanosecond. */
#pragma once

#include "base/failure.h"
#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum waiter_slot {
	SLOT_SIGNAL,
	SLOT_TIMER,
	SLOT_CONTROL,
	SLOT_STREAMS,
	SLOT_LISTENER,
	SLOT_DATA,
	SLOT_PEERS, /* first of many */
};

/* A server's sessions, and connections that have not said yet what they are. */
#define PEERS_LIMIT 2112

struct waiter;

/* Blocks SIGINT, SIGTERM and SIGHUP in this thread and all later ones: they come as SLOT_SIGNAL. */
struct waiter *waiter_create(struct failure *failure);
void waiter_destroy(struct waiter *waiter);

/* `events` as for poll(); slot may be SLOT_PEERS + n. */
void waiter_watch(struct waiter *waiter, unsigned slot, int fd, short events);
void waiter_forget(struct waiter *waiter, unsigned slot);

/*
 * SLOT_TIMER becomes ready at that time of CLOCK_MONOTONIC, and stays so until it is set anew or
 * disarmed: whoever has the turn before it cannot take its turn away.
 */
int waiter_arm(struct waiter *waiter, uint64_t at_ns, struct failure *failure);
int waiter_disarm(struct waiter *waiter, struct failure *failure);

/* Until something is ready. */
int waiter_wait(struct waiter *waiter, struct failure *failure);
/* As that, without waiting: for work that must be left when something is ready. */
int waiter_look(struct waiter *waiter, struct failure *failure);
/* What poll() said of the slot. */
bool waiter_ready(const struct waiter *waiter, unsigned slot);

/* What to do when a slot is ready; true: that was all. */
struct waiter_turn {
	unsigned slot;
	int fd; /* watched meanwhile; -1: of a signal or the timer */
	bool (*act)(void *context);
};

/*
 * Waits, and gives the turn to the first one in the table that is ready, until one of them says
 * that it was all. What is always ready belongs at the end. -1 when waiting fails.
 */
int waiter_follow(struct waiter *waiter, const struct waiter_turn *turns, size_t count,
		  void *context, struct failure *failure);

/* The number of the signal that SLOT_SIGNAL stands for; 0 for none. */
int waiter_take_signal(struct waiter *waiter);

const char *signal_name(int number);
