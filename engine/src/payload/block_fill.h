/*
 * Verified payload: made and summed in one pass, while its words are in registers. The bytes are
 * the generator's, the sum is XXH3-64 with a seed (Collet, xxHash specification: doc of XXH3), the
 * same values as of generator_fill() and the library. `tests/bench/engine/bench_engine.py making`
 * prints what either costs. No I/O.
 */
#pragma once

#include "payload/generator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fill_method;

/* The fastest one that this processor has. */
const struct fill_method *fill_method_best(void);
/* All that this processor has, the portable one first; NULL when there are no more. */
const struct fill_method *fill_method(unsigned index);
const char *fill_method_name(const struct fill_method *way);

/* As generator_fill(); returns the sum of what it made. `offset` begins a piece. */
uint64_t block_fill(const struct fill_method *way, const struct generator *generator,
		    uint64_t offset, void *bytes, size_t count, uint64_t seed);
/* The same sum of bytes that are there. */
uint64_t block_sum(const struct fill_method *way, const void *bytes, size_t count, uint64_t seed);
