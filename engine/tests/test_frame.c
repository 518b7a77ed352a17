#include "check.h"
#include "control/frame.h"
#include "control/hello.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void frame_survives_any_cut(void **state)
{
	static const char *const texts[] = {"{}", "{\"type\":\"go\"}", "x"};
	uint8_t stream[256];
	size_t used = 0;
	for (size_t i = 0; i < 3; i++) {
		uint8_t *frame;
		size_t length;
		assert_int_equal(frame_encode(texts[i], strlen(texts[i]), &frame, &length), 0);
		memcpy(stream + used, frame, length);
		used += length;
		free(frame);
	}
	for (size_t cut = 1; cut <= used; cut++) {
		struct frame_decoder *decoder = frame_decoder_create();
		size_t seen = 0;
		for (size_t at = 0; at < used; at += cut) {
			size_t count = used - at < cut ? used - at : cut;
			char *payload;
			size_t length;
			assert_int_equal(frame_decoder_push(decoder, stream + at, count), 0);
			while (frame_decoder_next(decoder, &payload, &length) == 1) {
				assert_string_equal(payload, texts[seen]);
				assert_int_equal(length, strlen(texts[seen]));
				free(payload);
				seen++;
			}
		}
		assert_int_equal(seen, 3);
		frame_decoder_destroy(decoder);
	}
}

static void frame_header_is_big_endian(void **state)
{
	char *text = malloc(0x10203);
	uint8_t *frame;
	size_t length;
	memset(text, 'a', 0x10203);
	assert_int_equal(frame_encode(text, 0x10203, &frame, &length), 0);
	assert_memory_equal(frame, "\x00\x01\x02\x03", 4);
	assert_int_equal(length, 0x10207);
	free(frame);
	free(text);
}

static void frame_limit_is_one_mebibyte(void **state)
{
	char *text = calloc(1, FRAME_LIMIT_BYTES + 1);
	uint8_t *frame;
	size_t length;
	assert_int_equal(frame_encode(text, FRAME_LIMIT_BYTES + 1, &frame, &length), -EMSGSIZE);
	assert_int_equal(frame_encode(text, 0, &frame, &length), -EMSGSIZE);
	assert_int_equal(frame_encode(text, FRAME_LIMIT_BYTES, &frame, &length), 0);
	struct frame_decoder *decoder = frame_decoder_create();
	char *payload;
	assert_int_equal(frame_decoder_push(decoder, frame, length), 0);
	assert_int_equal(frame_decoder_next(decoder, &payload, &length), 1);
	free(payload);
	frame_decoder_destroy(decoder);
	free(frame);
	free(text);
}

static void frame_too_large_is_refused_at_its_header(void **state)
{
	struct frame_decoder *decoder = frame_decoder_create();
	char *payload;
	size_t length;
	assert_int_equal(frame_decoder_push(decoder, "\x00\x10\x00\x01", 4), -EMSGSIZE);
	assert_int_equal(frame_decoder_next(decoder, &payload, &length), -EMSGSIZE);
	assert_int_equal(frame_decoder_push(decoder, "x", 1), -EMSGSIZE);
	frame_decoder_destroy(decoder);
}

static void frame_empty_is_refused(void **state)
{
	struct frame_decoder *decoder = frame_decoder_create();
	char *payload;
	size_t length;
	assert_int_equal(frame_decoder_push(decoder, "\0\0\0\0", 4), 0);
	assert_int_equal(frame_decoder_next(decoder, &payload, &length), -EBADMSG);
	frame_decoder_destroy(decoder);
}

static void frame_flood_is_bounded(void **state)
{
	struct frame_decoder *decoder = frame_decoder_create();
	uint8_t *zeros = calloc(1, FRAME_LIMIT_BYTES);
	int status = 0;
	for (int i = 0; i < 4 && status == 0; i++)
		status = frame_decoder_push(decoder, zeros, FRAME_LIMIT_BYTES);
	assert_int_equal(status, -EMSGSIZE);
	free(zeros);
	frame_decoder_destroy(decoder);
}

static void hello_proves_one_stream_of_one_session(void **state)
{
	struct hello sent = {.stream = 0x01020304, .session = 0xfffefdfc};
	struct hello got;
	uint8_t bytes[HELLO_BYTES];
	uint8_t secret[SECRET_BYTES];
	uint8_t nonce[NONCE_BYTES];
	memset(secret, 7, sizeof(secret));
	memset(nonce, 9, sizeof(nonce));
	hello_prove(&sent, secret, nonce);
	hello_encode(&sent, bytes);
	assert_true(hello_decode(bytes, &got));
	assert_int_equal(got.stream, 0x01020304);
	assert_int_equal(got.session, 0xfffefdfc);
	assert_true(hello_begins(bytes[0]));
	assert_false(hello_begins(0)); /* of a frame's length */
	assert_true(hello_check(&got, secret, nonce));
	/* Not for another stream, session or connection, nor with a bit changed. */
	got.stream++;
	assert_false(hello_check(&got, secret, nonce));
	got.stream--;
	secret[SECRET_BYTES - 1] ^= 1;
	assert_false(hello_check(&got, secret, nonce));
	secret[SECRET_BYTES - 1] ^= 1;
	nonce[0] ^= 1;
	assert_false(hello_check(&got, secret, nonce));
	nonce[0] ^= 1;
	got.proof[PROOF_BYTES - 1] ^= 1;
	assert_false(hello_check(&got, secret, nonce));
	bytes[7]++; /* another protocol version */
	assert_false(hello_decode(bytes, &got));
}

static void challenge_round_trip(void **state)
{
	uint8_t bytes[CHALLENGE_BYTES];
	uint8_t nonce[NONCE_BYTES];
	uint8_t back[NONCE_BYTES];
	for (uint8_t i = 0; i < NONCE_BYTES; i++)
		nonce[i] = (uint8_t)(255 - i);
	challenge_encode(nonce, bytes);
	assert_true(challenge_decode(bytes, back));
	assert_memory_equal(nonce, back, NONCE_BYTES);
	bytes[0] ^= 1;
	assert_false(challenge_decode(bytes, back));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(frame_survives_any_cut),
	    cmocka_unit_test(frame_header_is_big_endian),
	    cmocka_unit_test(frame_limit_is_one_mebibyte),
	    cmocka_unit_test(frame_too_large_is_refused_at_its_header),
	    cmocka_unit_test(frame_empty_is_refused),
	    cmocka_unit_test(frame_flood_is_bounded),
	    cmocka_unit_test(hello_proves_one_stream_of_one_session),
	    cmocka_unit_test(challenge_round_trip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
