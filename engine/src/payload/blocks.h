/*
 * A stream of verified payload is a row of blocks: all of the transfer's block size but the last
 * ones. The sender chooses that size, so that a block is whole packets (packet.h), and names it in
 * its request. Each payload is the generator's bytes from block_origin() on, so that each is
 * unique. No I/O.
 */
#pragma once

#include "payload/block.h"
#include "payload/generator.h"

/* A seed crosses JSON unchanged. */
#define SEED_LIMIT (UINT64_C(1) << 53)

/*
 * The largest block, header and payload: both stay in a core's second-level cache while they are
 * worked on.
 */
#define BLOCK_BYTES (UINT32_C(256) << 10)
/* The smallest size that may be chosen: half of the largest, since a packet is no more. */
#define BLOCK_LEAST_BYTES (BLOCK_BYTES / 2)
/* Fewer cannot be a block. */
#define BLOCK_MIN_BYTES (BLOCK_HEADER_BYTES + 1)

/* As many whole packets as a block can be; the largest block when `packet` is 0 (unknown). */
uint32_t block_bytes_choose(uint32_t packet);

/*
 * Bytes of the next block, header included, when `left` bytes of the stream are still to come and
 * a full block has `full` bytes; never leaves a rest too small to be one.
 */
uint32_t block_size(uint64_t left, uint32_t full);
/* How many blocks a stream of that many bytes has; UINT64_MAX for UINT64_MAX (no limit). */
uint64_t block_count(uint64_t bytes, uint32_t full);
/* Where a block's payload begins in the stream's payload. */
uint64_t block_offset(uint64_t sequence, uint32_t full);
/* Where in the generator's bytes a block's payload begins: with a piece. */
uint64_t block_origin(uint64_t sequence);

struct block_writer {
	struct generator generator;
	uint32_t stream;
	uint32_t full;     /* bytes of a full block */
	uint64_t sequence; /* of the next block */
};

struct block_writer block_writer_create(uint64_t seed, uint32_t stream, uint32_t full);
/* Writes the next block of `left` bytes still to come; returns its size. */
uint32_t block_write(struct block_writer *writer, uint64_t left, uint8_t bytes[BLOCK_BYTES]);
