/*
 * Blocks of verified payload: a 48-byte header, then 1 to BLOCK_PAYLOAD_MAX bytes. Integers are
 * little-endian. The header has a checksum of its own, so that after damage the next block can be
 * found by looking for one. No I/O. Checksums: XXH3-64, not cryptographic: they find accidents.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_HEADER_BYTES 48
#define BLOCK_PAYLOAD_MAX  (UINT32_C(16) << 20)

struct block_header {
	uint32_t stream;   /* the connection that it was sent on */
	uint32_t length;   /* payload bytes that follow */
	uint64_t sequence; /* counts the blocks of the stream from 0 */
	uint64_t object;   /* 0 for generated payload; a file's number */
	uint64_t offset;   /* of the payload in the stream's payload, or in the file */
	uint64_t checksum; /* block_checksum() of the payload */
};

void block_header_encode(const struct block_header *header, uint8_t bytes[BLOCK_HEADER_BYTES]);
/* False when the bytes are not an undamaged header. */
bool block_header_decode(const uint8_t bytes[BLOCK_HEADER_BYTES], struct block_header *header);

/*
 * Where in `bytes` the first undamaged header begins; `count` when none does. The last
 * BLOCK_HEADER_BYTES - 1 bytes cannot hold a whole one and are not judged.
 */
size_t block_header_find(const uint8_t *bytes, size_t count);

/* A payload that is whole but in another block's place must not pass: what the checksum begins
 * with. */
uint64_t block_seed(const struct block_header *header);
/* Depends on the payload, and on stream, sequence, object and offset of the header as well. */
uint64_t block_checksum(const struct block_header *header, const void *payload, size_t length);
