/*
 * Frames of the control connection: 4-byte big-endian length, then that many bytes of JSON.
 * The decoder does no I/O, so that it can be tested and fuzzed alone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_BYTES 4
#define FRAME_LIMIT_BYTES  (UINT32_C(1) << 20)
/* Of a peer that has not said who it is. */
#define FRAME_STRANGER_BYTES UINT32_C(4096)

/*
 * Of a request that anybody may make: a server's one loop reads those of all. A session has a
 * process of its own, and so the greatest.
 */
#define FRAME_REQUEST_BYTES (UINT32_C(16) << 10)

struct frame_decoder;

struct frame_decoder *frame_decoder_create(void);
void frame_decoder_destroy(struct frame_decoder *decoder);

/* The largest frame to take from now on; FRAME_LIMIT_BYTES at first. */
void frame_decoder_limit(struct frame_decoder *decoder, uint32_t bytes);
/* How many bytes frame_decoder_push takes now: what a peer sends on without waiting stays outside.
 */
size_t frame_decoder_room(const struct frame_decoder *decoder);

/* What the next frame announces, in its own four bytes; 0 when they are not there. */
uint32_t frame_decoder_announced(const struct frame_decoder *decoder);

/* Append received bytes. 0, -ENOMEM, or -EMSGSIZE when a frame above the limit was announced. */
int frame_decoder_push(struct frame_decoder *decoder, const void *bytes, size_t count);

/*
 * 1 and a NUL-terminated copy in *payload (the caller frees it) when a whole frame is there;
 * 0 when more bytes are needed; -EMSGSIZE, -EBADMSG (an empty frame) or -ENOMEM otherwise.
 */
int frame_decoder_next(struct frame_decoder *decoder, char **payload, size_t *length);

/* A whole frame in *frame (the caller frees it). 0, -EMSGSIZE or -ENOMEM. */
int frame_encode(const char *payload, size_t length, uint8_t **frame, size_t *frame_length);
