/*
 * Where the bytes of a stream come from, a piece at a time: from the sealed payload, which never
 * changes, or made on the way as blocks (blocks.h). Made blocks lie in slots; a slot is used again
 * only after its release, so that no page in flight is ever rewritten.
 */
#pragma once

#include "payload/blocks.h"
#include "payload/buffer.h"
#include "payload/payload.h"

#define SOURCE_NO_SLOT UINT32_MAX

struct source {
	const struct payload *payload; /* NULL: blocks are made */
	uint64_t span;                 /* bytes of the payload that go round */
	uint64_t shift;
	uint64_t position;
	struct block_writer writer;
	struct buffer buffer;
	uint32_t *idle; /* slots that may be written, the last used on top: it is in the cache */
	uint32_t idle_count;
	uint32_t slots;
};

struct piece {
	const uint8_t *bytes;
	uint64_t count;
	int fd; /* the payload's file, with the place in it; -1 for made blocks */
	int64_t offset;
	uint32_t slot;
};

/* Both: 0 or a positive errno. */
int source_open_payload(struct source *source, const struct payload *payload, uint64_t span,
			unsigned stream);
int source_open_blocks(struct source *source, uint64_t seed, unsigned stream, uint32_t full,
		       uint32_t slots);
void source_close(struct source *source);

/* False when every slot is in flight. */
bool source_next(struct source *source, uint64_t left, struct piece *piece);
void source_release(struct source *source, uint32_t slot);
