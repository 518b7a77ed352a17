#include "generator.h"

#include <endian.h>
#include <string.h>

#define GAMMA UINT64_C(0x9e3779b97f4a7c15)
/* Words at a time: a count known to the compiler, so that it uses vectors. */
#define GROUP_WORDS 64
#define GROUP_BYTES (GROUP_WORDS * sizeof(uint64_t))

static inline __attribute__((always_inline)) uint64_t word_mix(uint64_t word)
{
	word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
	return word ^ word >> 31;
}

static inline __attribute__((always_inline)) void groups_fill(uint64_t state, uint8_t *bytes,
							      size_t groups)
{
	for (size_t group = 0; group < groups; group++) {
		uint64_t words[GROUP_WORDS];
		for (unsigned i = 0; i < GROUP_WORDS; i++)
			words[i] = htole64(word_mix(state + (i + 1) * GAMMA));
		memcpy(bytes + group * GROUP_BYTES, words, GROUP_BYTES);
		state += GROUP_WORDS * GAMMA;
	}
}

static void groups_fill_plain(uint64_t state, uint8_t *bytes, size_t groups)
{
	groups_fill(state, bytes, groups);
}

#if defined(__x86_64__)
/* The same code, compiled for the vector multiplication of 64 bits that AVX-512 has. */
__attribute__((target("avx512f,avx512dq,avx512vl"))) static void
groups_fill_avx512(uint64_t state, uint8_t *bytes, size_t groups)
{
	groups_fill(state, bytes, groups);
}
#endif

struct generator generator_create(uint64_t seed, uint32_t stream)
{
	return (struct generator){.origin = word_mix(word_mix(seed + GAMMA) + stream)};
}

void generator_fill(const struct generator *generator, uint64_t offset, void *bytes, size_t count)
{
	uint64_t state = generator->origin + offset / GENERATOR_WORD_BYTES * GAMMA;
	size_t groups = count / GROUP_BYTES;
	size_t done = groups * GROUP_BYTES;
	uint8_t tail[GROUP_BYTES];
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		groups_fill_avx512(state, bytes, groups);
	else
#endif
		groups_fill_plain(state, bytes, groups);
	if (done == count)
		return;
	groups_fill_plain(state + groups * GROUP_WORDS * GAMMA, tail, 1);
	memcpy((uint8_t *)bytes + done, tail, count - done);
}
