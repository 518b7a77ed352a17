/* The generator's lanes, for generator.c and those who work on its words while they are made. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GAMMA       UINT64_C(0x9e3779b97f4a7c15)
#define LANES       8
#define STATE_WORDS 4

static inline __attribute__((always_inline)) uint64_t word_mix(uint64_t word)
{
	word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
	return word ^ word >> 31;
}

/* Word k of the states of all lanes, then word k + 1: splitmix64, as xoshiro's authors advise. */
static inline __attribute__((always_inline)) void seeds_fill(uint64_t origin, uint64_t piece,
							     uint64_t seeds[STATE_WORDS * LANES])
{
	uint64_t counter = origin + piece * STATE_WORDS * LANES * GAMMA;
	for (unsigned i = 0; i < STATE_WORDS * LANES; i++)
		seeds[i] = word_mix(counter + (i + 1) * GAMMA);
}

/* A step gives as many words as a state has. */
#define STEP_BYTES (sizeof(uint64_t) * STATE_WORDS * LANES)

/*
 * Four words of each lane in vector v, 64 bytes of all lanes' first ones and so on; then their
 * states' next step, written such that no result waits for another. XOR3 is one instruction with
 * AVX-512.
 */
#define LANES_STEP(v, words, XOR3)                                                                 \
	do {                                                                                       \
		vector old0 = s0[v];                                                               \
		vector old1 = s1[v];                                                               \
		vector turned = s3[v] ^ old1;                                                      \
		(words)[0] = old0 + s3[v];                                                         \
		(words)[1] = old1 + s2[v];                                                         \
		(words)[2] = s2[v] + s3[v];                                                        \
		(words)[3] = old0;                                                                 \
		s0[v] = XOR3(old0, s3[v], old1);                                                   \
		s1[v] = XOR3(old1, s2[v], old0);                                                   \
		s2[v] = XOR3(old1 << 17, s2[v], old0);                                             \
		s3[v] = turned << 45 | turned >> 19;                                               \
	} while (0)
/* The last two are those that two results share. */
#define LANES_XOR3(a, b, c) ((a) ^ ((b) ^ (c)))
