/*
 * A stream of verified payload is a row of blocks: all of BLOCK_BYTES but the last ones. Each
 * payload is the generator's bytes from block_origin() on, so that each is unique.
 * No I/O.
 */
#ifndef LANDSPEED_BLOCKS_H
#define LANDSPEED_BLOCKS_H

#include "block.h"
#include "generator.h"

/* Header and payload together stay in a core's second-level cache while they are worked on. */
#define BLOCK_BYTES         (UINT32_C(256) << 10)
#define BLOCK_PAYLOAD_BYTES (BLOCK_BYTES - BLOCK_HEADER_BYTES)
/* Fewer cannot be a block. */
#define BLOCK_MIN_BYTES (BLOCK_HEADER_BYTES + 1)

/*
 * Bytes of the next block, header included, when `left` bytes of the stream are still to come;
 * never leaves a rest too small to be one.
 */
uint32_t block_size(uint64_t left);
/* How many blocks a stream of that many bytes has; UINT64_MAX for UINT64_MAX (no limit). */
uint64_t block_count(uint64_t bytes);
/* Where in the generator's bytes a block's payload begins: with a piece. */
uint64_t block_origin(uint64_t sequence);

struct block_writer {
	struct generator generator;
	uint32_t stream;
	uint64_t sequence; /* of the next block */
};

struct block_writer block_writer_create(uint64_t seed, uint32_t stream);
/* Writes the next block of `left` bytes still to come; returns its size. */
uint32_t block_write(struct block_writer *writer, uint64_t left, uint8_t bytes[BLOCK_BYTES]);

#endif
