/*
 * The checksum of a block: XXH3-128 of libxxhash, since it keeps up with memory on one core and the
 * distributions that we support all have it (BLAKE3's C library is in none of the older ones). It
 * finds every error that is not made on purpose; against forgery only authentication helps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_NAME  "xxh3-128"
#define CHECKSUM_BYTES 16
/* Each block of a file has one. */
#define FILE_BLOCK_BYTES (UINT32_C(1) << 20)

struct checksum {
	uint8_t bytes[CHECKSUM_BYTES];
};

struct checksum checksum_of(const void *bytes, size_t count);
/* Of that many zero bytes, at most FILE_BLOCK_BYTES; computed once for a whole block. */
struct checksum checksum_of_zeros(size_t count);
bool checksum_equal(const struct checksum *a, const struct checksum *b);
/* Guards headers and journal entries. */
uint64_t checksum_short(const void *bytes, size_t count, uint64_t seed);
