#include "payload/generator.h"

#include "payload/lanes.h"

#include <endian.h>
#include <string.h>

/* The widest vectors that all, some and few x86-64 processors have; other kinds have the first. */
typedef uint64_t vector128 __attribute__((vector_size(16)));
#if defined(__x86_64__)
typedef uint64_t vector256 __attribute__((vector_size(32)));
typedef uint64_t vector512 __attribute__((vector_size(64)));
#endif

static inline __attribute__((always_inline)) void words_to_little_endian(uint8_t *bytes,
									 size_t count)
{
	if (__BYTE_ORDER == __LITTLE_ENDIAN)
		return;
	for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, bytes + at, sizeof(word));
		word = htole64(word);
		memcpy(bytes + at, &word, sizeof(word));
	}
}

#define WORD_PUT(v, word)                                                                          \
	memcpy(bytes + at + sizeof(uint64_t) * LANES * (word) + sizeof(vector) * (v),              \
	       &words[word], sizeof(vector));
#define STEP(v)                                                                                    \
	LANES_STEP(v, words, LANES_XOR3);                                                          \
	WORD_PUT(v, 0) WORD_PUT(v, 1) WORD_PUT(v, 2) WORD_PUT(v, 3)
#define STEPS_1 STEP(0)
#define STEPS_2 STEP(0) STEP(1)
#define STEPS_4 STEPS_2 STEP(2) STEP(3)

/*
 * A function that makes pieces, the last one to any whole step, with vectors of one type: a macro,
 * since C has no other way to write the same code for several. The steps are written out, not a
 * loop over the vectors: the states must stay in registers, and GCC 12 does not unroll that loop.
 */
#define PIECES_FILL(name, type, count)                                                             \
	static inline __attribute__((always_inline)) void name(uint64_t origin, uint64_t piece,    \
							       uint8_t *bytes, size_t length)      \
	{                                                                                          \
		typedef type vector;                                                               \
		_Static_assert((count) * sizeof(vector) == LANES * sizeof(uint64_t), "lanes");     \
		for (uint8_t *end = bytes + length; bytes < end; piece++) {                        \
			size_t left = (size_t)(end - bytes);                                       \
			size_t here = left < GENERATOR_PIECE_BYTES ? left : GENERATOR_PIECE_BYTES; \
			uint64_t seeds[STATE_WORDS * LANES];                                       \
			vector s0[count], s1[count], s2[count], s3[count];                         \
			vector words[STATE_WORDS];                                                 \
			seeds_fill(origin, piece, seeds);                                          \
			memcpy(s0, seeds, sizeof(s0));                                             \
			memcpy(s1, seeds + LANES, sizeof(s1));                                     \
			memcpy(s2, seeds + (ptrdiff_t)2 * LANES, sizeof(s2));                      \
			memcpy(s3, seeds + (ptrdiff_t)3 * LANES, sizeof(s3));                      \
			for (size_t at = 0; at < here; at += STEP_BYTES) {                         \
				STEPS_##count                                                      \
			}                                                                          \
			words_to_little_endian(bytes, here);                                       \
			bytes += here;                                                             \
		}                                                                                  \
	}

PIECES_FILL(pieces_fill_128, vector128, 4)

static void pieces_fill_plain(uint64_t origin, uint64_t piece, uint8_t *bytes, size_t length)
{
	pieces_fill_128(origin, piece, bytes, length);
}

#if defined(__x86_64__)
PIECES_FILL(pieces_fill_256, vector256, 2)
PIECES_FILL(pieces_fill_512, vector512, 1)

__attribute__((target("avx2"))) static void pieces_fill_avx2(uint64_t origin, uint64_t piece,
							     uint8_t *bytes, size_t length)
{
	pieces_fill_256(origin, piece, bytes, length);
}

__attribute__((target("avx512f,avx512dq"))) static void
pieces_fill_avx512(uint64_t origin, uint64_t piece, uint8_t *bytes, size_t length)
{
	pieces_fill_512(origin, piece, bytes, length);
}
#endif

struct generator generator_create_plain(uint64_t seed, uint32_t stream)
{
	return (struct generator){.origin = word_mix(word_mix(seed + GAMMA) + stream),
				  .fill = pieces_fill_plain};
}

struct generator generator_create(uint64_t seed, uint32_t stream)
{
	struct generator generator = generator_create_plain(seed, stream);
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		generator.fill = pieces_fill_avx512;
	else if (__builtin_cpu_supports("avx2"))
		generator.fill = pieces_fill_avx2;
#endif
	return generator;
}

/* Part of one piece: what stands before it is made too, and thrown away. Returns its length. */
static size_t part_fill(const struct generator *generator, uint64_t offset, uint8_t *bytes,
			size_t count)
{
	uint8_t whole[GENERATOR_PIECE_BYTES];
	size_t within = offset % GENERATOR_PIECE_BYTES;
	size_t part = GENERATOR_PIECE_BYTES - within;
	if (part > count)
		part = count;
	size_t steps = (within + part + STEP_BYTES - 1) / STEP_BYTES;
	generator->fill(generator->origin, offset / GENERATOR_PIECE_BYTES, whole,
			steps * STEP_BYTES);
	memcpy(bytes, whole + within, part);
	return part;
}

void generator_fill(const struct generator *generator, uint64_t offset, void *bytes, size_t count)
{
	uint8_t *to = bytes;
	size_t done =
	    offset % GENERATOR_PIECE_BYTES != 0 ? part_fill(generator, offset, to, count) : 0;
	size_t whole = (count - done) / GENERATOR_PIECE_BYTES * GENERATOR_PIECE_BYTES;
	generator->fill(generator->origin, (offset + done) / GENERATOR_PIECE_BYTES, to + done,
			whole);
	done += whole;
	if (done < count)
		(void)part_fill(generator, offset + done, to + done, count - done);
}
