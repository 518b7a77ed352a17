/* Interval lines as iperf prints them: per stream and their sum. */
#pragma once

#include "telemetry/goodput.h"
#include "telemetry/live.h"

#include <stdint.h>
#include <stdio.h>

struct intervals;

/* NULL when memory has run out. */
struct intervals *intervals_create(FILE *file, unsigned streams);
void intervals_destroy(struct intervals *intervals);

/* A line per stream and, for more than one, their sum: since the call before. */
void intervals_print(struct intervals *intervals, uint64_t time_ns,
		     const struct live_stream *streams);
/* The last line: bytes over the whole time, as "sender" or "receiver" counts them. */
void intervals_total(FILE *file, const struct goodput *whole, uint64_t retransmits,
		     const char *end);
