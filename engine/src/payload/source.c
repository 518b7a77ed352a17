#include "payload/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Streams begin at different pages, so that equal bytes do not travel side by side. */
#define STREAM_SHIFT_BYTES (UINT64_C(4096) * 61)

int source_open_payload(struct source *source, const struct payload *payload, uint64_t span,
			unsigned stream)
{
	memset(source, 0, sizeof(*source));
	source->payload = payload;
	source->span = span;
	source->shift = stream * STREAM_SHIFT_BYTES;
	return 0;
}

int source_open_blocks(struct source *source, uint64_t seed, unsigned stream, uint32_t full,
		       uint32_t slots)
{
	memset(source, 0, sizeof(*source));
	source->writer = block_writer_create(seed, stream, full);
	source->idle = calloc(slots, sizeof(source->idle[0]));
	if (source->idle == NULL)
		return ENOMEM;
	source->slots = slots;
	for (uint32_t slot = slots; slot-- > 0;)
		source->idle[source->idle_count++] = slot;
	int error = buffer_open(&source->buffer, (size_t)slots * BLOCK_BYTES);
	if (error != 0)
		source_close(source);
	return error;
}

void source_close(struct source *source)
{
	buffer_close(&source->buffer);
	free(source->idle);
	source->idle = NULL;
}

static void payload_piece(struct source *source, uint64_t left, struct piece *piece)
{
	/* The streams' parts begin apart, and each goes round in its own. */
	uint64_t within = source->position % source->span;
	uint64_t at = (source->shift + within) % PAYLOAD_BYTES;
	uint64_t count = source->span - within;
	if (count > PAYLOAD_BYTES - at)
		count = PAYLOAD_BYTES - at;
	if (count > left)
		count = left;
	*piece = (struct piece){.bytes = source->payload->bytes + at,
				.count = count,
				.fd = source->payload->fd,
				.offset = (int64_t)at,
				.slot = SOURCE_NO_SLOT};
	source->position += count;
}

bool source_next(struct source *source, uint64_t left, struct piece *piece)
{
	if (source->payload != NULL) {
		payload_piece(source, left, piece);
		return true;
	}
	if (source->idle_count == 0)
		return false;
	uint32_t slot = source->idle[--source->idle_count];
	uint8_t *bytes = (uint8_t *)source->buffer.bytes + (size_t)slot * BLOCK_BYTES;
	*piece = (struct piece){.bytes = bytes,
				.count = block_write(&source->writer, left, bytes),
				.fd = -1,
				.slot = slot};
	return true;
}

void source_release(struct source *source, uint32_t slot)
{
	if (slot != SOURCE_NO_SLOT)
		source->idle[source->idle_count++] = slot;
}
