/*
 * The way of bytes from a stranger: frames, JSON, messages. The first input byte says in which
 * pieces the rest arrives. `meson setup engine/build-fuzz -Dfuzz=true` with CC=clang.
 */
#include "control/frame.h"
#include "control/hello.h"
#include "control/request.h"
#include "files/message.h"
#include "files/wanted.h"
#include "telemetry/report.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void files_message_try(const cJSON *message, enum message_type type)
{
	static uint8_t bitmap[HAVE_BLOCKS / 8];
	struct failure failure = {0};
	struct have have = {.bitmap = bitmap};
	struct state_view view;
	struct again again;
	struct progress progress;
	if (type == MESSAGE_FILES_HAVE)
		(void)have_decode(message, &have, &failure);
	else if (type == MESSAGE_FILES_STATE)
		(void)state_decode(message, 1000, &view, &failure);
	else if (type == MESSAGE_FILES_AGAIN)
		(void)again_decode(message, &again, &failure);
	else if (type == MESSAGE_FILES_PROGRESS)
		(void)progress_decode(message, &progress, &failure);
}

static void request_try(cJSON *message)
{
	unsigned count;
	char *paths[WANTED_LIMIT];
	struct request request;
	struct failure failure = {0};
	if (request_decode(message, &request, &failure) == 0)
		cJSON_Delete(request_encode(&request));
	failure = (struct failure){0};
	if (wanted_take(message, paths, &count, &failure) == 0)
		(void)wanted_has(paths, count, "a/b");
}

static void message_try(const char *payload, size_t length)
{
	struct failure failure = {0};
	struct grant grant;
	struct receiver_report report;
	enum message_type type;
	cJSON *message;
	char text[64];
	if (message_parse(payload, length, &message, &type, &failure) != 0)
		return;
	if (type == MESSAGE_REQUEST)
		request_try(message);
	else if (type == MESSAGE_GRANT)
		(void)grant_decode(message, &grant, &failure);
	else if (type == MESSAGE_ERROR)
		error_decode(message, text, sizeof(text));
	else if (type == MESSAGE_RESULT &&
		 receiver_report_decode(message, 2, &report, &failure) == 0)
		receiver_report_clear(&report);
	else
		files_message_try(message, type);
	cJSON_Delete(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hello hello;
	uint8_t nonce[NONCE_BYTES];
	if (size >= HELLO_BYTES)
		(void)hello_decode(data, &hello);
	if (size >= CHALLENGE_BYTES)
		(void)challenge_decode(data, nonce);
	if (size < 2)
		return 0;
	size_t step = (size_t)data[0] + 1;
	struct frame_decoder *decoder = frame_decoder_create();
	if (decoder == NULL)
		return 0;
	for (size_t at = 1; at < size; at += step) {
		char *payload;
		size_t length;
		size_t count = size - at < step ? size - at : step;
		if (frame_decoder_push(decoder, data + at, count) != 0)
			break;
		while (frame_decoder_next(decoder, &payload, &length) == 1) {
			message_try(payload, length);
			free(payload);
		}
	}
	frame_decoder_destroy(decoder);
	return 0;
}
