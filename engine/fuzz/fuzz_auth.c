/*
 * What a stranger can do to the handshake, as server and as client, with and without a key. The
 * first byte chooses; the rest arrives as frames. Nonces are fixed, so that the corpus can hold
 * proofs that are right, and what lies behind them is reached.
 */
#include "control/auth.h"
#include "control/frame.h"
#include "control/request.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct key key = {.bytes = "0123456789abcdefghijklmnopqrstu"};

struct peer {
	struct auth auth;
	enum auth_status status;
	struct frame_decoder *decoder;
};

/* False when the connection would be closed. */
static bool payload_take(struct peer *peer, const char *payload, size_t length)
{
	cJSON *message;
	cJSON *answer = NULL;
	enum message_type type;
	struct request request;
	struct failure failure = {0};
	if (peer->status == AUTH_OPEN && peer->auth.channel.active) {
		if (length <= AUTH_TAG_BYTES)
			return false;
		length -= AUTH_TAG_BYTES;
		if (!auth_channel_check(&peer->auth.channel, payload, length,
					(const uint8_t *)payload + length))
			return false;
	}
	if (message_parse(payload, length, &message, &type, &failure) != 0)
		return false;
	if (peer->status == AUTH_OPEN) {
		if (type == MESSAGE_REQUEST)
			(void)request_decode(message, &request, &failure);
	} else {
		peer->status = auth_take(&peer->auth, message, type, &answer, &failure);
	}
	/* With a key nobody is open who has not shown the proof. */
	if (peer->status == AUTH_OPEN && peer->auth.key != NULL && !peer->auth.channel.active)
		abort();
	if (peer->status == AUTH_FAILED && answer != NULL)
		abort();
	cJSON_Delete(answer);
	cJSON_Delete(message);
	return peer->status != AUTH_FAILED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t nonce[AUTH_NONCE_BYTES] = {9};
	struct peer peer = {.decoder = frame_decoder_create()};
	if (peer.decoder == NULL || size < 1) {
		frame_decoder_destroy(peer.decoder);
		return 0;
	}
	bool server = (data[0] & 1) == 0;
	auth_start(&peer.auth, server ? AUTH_SERVER : AUTH_CLIENT, (data[0] & 2) == 0 ? &key : NULL,
		   nonce);
	frame_decoder_limit(peer.decoder, FRAME_STRANGER_BYTES);
	if (!server)
		cJSON_Delete(auth_greet(&peer.auth, &peer.status));
	bool open = true;
	for (size_t at = 1; open && at < size;) {
		char *payload;
		size_t length;
		size_t room = frame_decoder_room(peer.decoder);
		size_t count = size - at < room ? size - at : room;
		if (count == 0 || frame_decoder_push(peer.decoder, data + at, count) != 0)
			break;
		at += count;
		while (open && frame_decoder_next(peer.decoder, &payload, &length) == 1) {
			open = payload_take(&peer, payload, length);
			free(payload);
		}
	}
	frame_decoder_destroy(peer.decoder);
	return 0;
}
