#include "control/frame.h"

#include "base/wire.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct frame_decoder {
	uint8_t *bytes;
	size_t used;
	size_t room;
	uint32_t limit;
};

static uint32_t length_read(const uint8_t *header)
{
	uint32_t length;
	(void)wire_get_u32(header, &length);
	return length;
}

static bool length_too_large(const struct frame_decoder *decoder)
{
	return decoder->used >= FRAME_HEADER_BYTES && length_read(decoder->bytes) > decoder->limit;
}

struct frame_decoder *frame_decoder_create(void)
{
	struct frame_decoder *decoder = calloc(1, sizeof(*decoder));
	if (decoder != NULL)
		decoder->limit = FRAME_LIMIT_BYTES;
	return decoder;
}

void frame_decoder_limit(struct frame_decoder *decoder, uint32_t bytes)
{
	decoder->limit = bytes;
}

/* No peer can make us keep more than two frames. */
size_t frame_decoder_room(const struct frame_decoder *decoder)
{
	size_t most = 2 * ((size_t)decoder->limit + FRAME_HEADER_BYTES);
	return decoder->used < most ? most - decoder->used : 0;
}

uint32_t frame_decoder_announced(const struct frame_decoder *decoder)
{
	return decoder->used >= FRAME_HEADER_BYTES ? length_read(decoder->bytes) : 0;
}

void frame_decoder_destroy(struct frame_decoder *decoder)
{
	if (decoder == NULL)
		return;
	free(decoder->bytes);
	free(decoder);
}

/* Memory grows with what arrived, never with what a header claims will arrive. */
static int room_make(struct frame_decoder *decoder, size_t wanted)
{
	size_t room = decoder->room != 0 ? decoder->room : 256;
	if (wanted <= decoder->room)
		return 0;
	while (room < wanted)
		room *= 2;
	uint8_t *bytes = realloc(decoder->bytes, room);
	if (bytes == NULL)
		return -ENOMEM;
	decoder->bytes = bytes;
	decoder->room = room;
	return 0;
}

int frame_decoder_push(struct frame_decoder *decoder, const void *bytes, size_t count)
{
	if (length_too_large(decoder))
		return -EMSGSIZE;
	if (count == 0)
		return 0;
	if (count > frame_decoder_room(decoder))
		return -EMSGSIZE;
	int status = room_make(decoder, decoder->used + count);
	if (status != 0)
		return status;
	memcpy(decoder->bytes + decoder->used, bytes, count);
	decoder->used += count;
	return length_too_large(decoder) ? -EMSGSIZE : 0;
}

int frame_decoder_next(struct frame_decoder *decoder, char **payload, size_t *length)
{
	if (decoder->used < FRAME_HEADER_BYTES)
		return 0;
	if (length_too_large(decoder))
		return -EMSGSIZE;
	size_t size = length_read(decoder->bytes);
	if (size == 0)
		return -EBADMSG;
	size_t whole = FRAME_HEADER_BYTES + size;
	if (decoder->used < whole)
		return 0;
	char *copy = malloc(size + 1);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, decoder->bytes + FRAME_HEADER_BYTES, size);
	copy[size] = '\0';
	decoder->used -= whole;
	memmove(decoder->bytes, decoder->bytes + whole, decoder->used);
	*payload = copy;
	*length = size;
	return 1;
}

int frame_encode(const char *payload, size_t length, uint8_t **frame, size_t *frame_length)
{
	if (length == 0 || length > FRAME_LIMIT_BYTES)
		return -EMSGSIZE;
	uint8_t *bytes = malloc(FRAME_HEADER_BYTES + length);
	if (bytes == NULL)
		return -ENOMEM;
	(void)wire_put_u32(bytes, (uint32_t)length);
	memcpy(bytes + FRAME_HEADER_BYTES, payload, length);
	*frame = bytes;
	*frame_length = FRAME_HEADER_BYTES + length;
	return 0;
}
