/*
 * Pseudo-random payload in counter mode: splitmix64 (Steele, Lea, Flood: Fast Splittable
 * Pseudorandom Number Generators, OOPSLA 2014). Word n is a function of seed, stream and n alone,
 * so that any part can be made again, anywhere. Not for secrets.
 *
 * Chosen by measurement on one core (2.5 GHz, AVX-512): 8 GB/s, 4.5 without vectors; AES-128-CTR
 * of libcrypto 4.7, ChaCha20 of libsodium 2.0, XXH3-128 of a counter 3.4.
 */
#ifndef LANDSPEED_GENERATOR_H
#define LANDSPEED_GENERATOR_H

#include <stddef.h>
#include <stdint.h>

#define GENERATOR_WORD_BYTES 8

struct generator {
	uint64_t origin;
};

struct generator generator_create(uint64_t seed, uint32_t stream);

/* Bytes from `offset`, a multiple of GENERATOR_WORD_BYTES, on; little-endian words. */
void generator_fill(const struct generator *generator, uint64_t offset, void *bytes, size_t count);

#endif
