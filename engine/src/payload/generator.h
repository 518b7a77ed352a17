/*
 * Pseudo-random payload in counter mode: piece n of GENERATOR_PIECE_BYTES is a function of seed,
 * stream and n alone, so that any part can be made again, anywhere. Within a piece eight
 * xoshiro256 side by side (Blackman, Vigna: Scrambled Linear Pseudorandom Number Generators, ACM
 * TOMS 47:4, 2021), seeded by splitmix64 of a counter (Steele, Lea, Flood, OOPSLA 2014). Each step
 * of a state a, b, c, d gives four words, a + d, b + c, c + d and a: 64 bytes of the first ones of
 * all eight, 64 of the second, and so on. Their authors take a + d only (xoshiro256+); four words
 * say all about a state, which is no harm for a payload. Not for secrets.
 *
 * Chosen by measurement, several times as fast as splitmix64 alone, AES-128-CTR of libcrypto,
 * ChaCha20 of libsodium and XXH3-128 of a counter. `tests/bench/engine/bench_engine.py making`
 * prints what a block of it costs here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GENERATOR_PIECE_BYTES ((size_t)16384)

struct generator {
	uint64_t origin;
	/* From the beginning of a piece on, a whole number of steps, with this processor's vectors;
	 * the bytes are the same with all. */
	void (*fill)(uint64_t origin, uint64_t piece, uint8_t *bytes, size_t length);
};

struct generator generator_create(uint64_t seed, uint32_t stream);
/* The same bytes without this processor's vectors. */
struct generator generator_create_plain(uint64_t seed, uint32_t stream);

/* Bytes from `offset` on; words are little-endian. Begins best where a piece does. */
void generator_fill(const struct generator *generator, uint64_t offset, void *bytes, size_t count);
