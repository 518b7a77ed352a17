/*
 * What goodput is: payload that was read, by the time that it took. Nothing else computes one.
 *
 * Memory, of the transfer and of each stream, in either direction, as the end that reads has it:
 * the clock begins when the first byte has been read (of any stream; with a warm-up, that long
 * after), and ends with the last byte, or when the time limit is over. Bytes that had come when it
 * began took no time of it: they are not counted, but for as many as have come and are not read
 * when it ends. So the figure is never above what the line carried meanwhile, however late the
 * reader was (with a time limit: by the one read whose return shows that it is over). `bytes` has
 * them all.
 *
 * Files: what travelled, from go until the last block was written; durable: until all is on the
 * disk. What had come at go is not counted.
 *
 * Datagrams: those that were received, each once, by the time for which they were sent. Where they
 * came for longer, behind a queue, by the time from the first to the last, and without the first.
 *
 * Round trips have none: they are counted by the second.
 *
 * What took less than a round trip, or had come at once, is too short for a rate, and has none.
 */
#pragma once

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

struct goodput {
	uint64_t bytes;
	uint64_t early_bytes; /* of them, not to be counted */
	uint64_t duration_ns;
	uint64_t rtt_us; /* the smallest that was seen; 0: unknown */
};

/* In bit/s; 0: it is too short for a rate, or nothing came. */
uint64_t goodput_bps(const struct goodput *goodput);
/* "goodput_bps", null where there is none, and then "goodput_reason". */
void goodput_add(cJSON *object, const struct goodput *goodput);
/* "goodput 1.234 Gbit/s", or that it is too short for a rate. */
void goodput_text(const struct goodput *goodput, char *text, unsigned size);
