/* What C lacks of arithmetic. */
#pragma once

#include <stdint.h>

static inline uint64_t number_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t number_most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* a - b, and 0 where that would be below it. */
static inline uint64_t number_above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}
