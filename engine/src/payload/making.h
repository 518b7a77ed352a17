/*
 * Verified payload: made and summed in one pass, while its words are in registers. The bytes are
 * the generator's, the sum is XXH3-64 with a seed (Collet, xxHash specification: doc of XXH3), the
 * same values as of generator_fill() and the library. `tests/bench/engine/bench_engine.py making`
 * prints what either costs. No I/O.
 */
#ifndef LANDSPEED_PAYLOAD_MAKING_H
#define LANDSPEED_PAYLOAD_MAKING_H

#include "payload/generator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct making_way;

/* The fastest one that this processor has. */
const struct making_way *making_way_best(void);
/* All that this processor has, the portable one first; NULL when there are no more. */
const struct making_way *making_way(unsigned index);
const char *making_way_name(const struct making_way *way);

/* As generator_fill(); returns the sum of what it made. `offset` begins a piece. */
uint64_t making_fill(const struct making_way *way, const struct generator *generator,
		     uint64_t offset, void *bytes, size_t count, uint64_t seed);
/* The same sum of bytes that are there. */
uint64_t making_sum(const struct making_way *way, const void *bytes, size_t count, uint64_t seed);

#endif
