/*
 * Records of the kernel are TLS 1.3's, open once, whole, unchanged and in their order; nothing else
 * does. Where the kernel has no TLS (tests/engine/test_ktls.py runs this where it has): a refusal.
 */
#include "check.h"
#include "connection.h"
#include "protect/ktls.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#define TAG        16
#define HEAD       TLS_HEAD_BYTES
#define FULL       TLS_PAYLOAD_BYTES
#define WHOLE      (TLS_HEAD_BYTES + TLS_PAYLOAD_BYTES + TLS_TAIL_BYTES)
#define RECORDS    4
#define DATA_TYPE  23
#define ALERT_TYPE 21

static const uint8_t secret[PROTECT_SECRET_BYTES] = {7, 7, 7};

static bool there(void)
{
	struct failure failure = {0};
	return ktls_check(&failure) == 0;
}

static void keys_are_of_one_stream_and_secret(void **state)
{
	struct protect_keys keys[3];
	uint8_t other[PROTECT_SECRET_BYTES] = {7, 7, 8};
	protect_keys_derive(secret, 0, &keys[0]);
	protect_keys_derive(secret, 1, &keys[1]);
	protect_keys_derive(other, 0, &keys[2]);
	for (int i = 0; i < 3; i++) {
		const struct protect_keys *a = &keys[i];
		const struct protect_keys *b = &keys[(i + 1) % 3];
		assert_memory_not_equal(a->key, b->key, sizeof(a->key));
		assert_memory_not_equal(a->iv, b->iv, sizeof(a->iv));
		assert_memory_not_equal(a->key, a->iv, sizeof(a->iv));
	}
	protect_keys_derive(secret, 1, &keys[0]);
	assert_memory_equal(&keys[0], &keys[1], sizeof(keys[0]));
}

static void a_key_has_an_end(void **state)
{
	uint64_t records = 0;
	assert_int_equal(ktls_count(&records, 1), 0);
	assert_int_equal(ktls_count(&records, FULL), 0);
	assert_int_equal(ktls_count(&records, FULL + 1), 0);
	assert_int_equal(records, 4);
	assert_int_equal(ktls_count(&records, (TLS_KEY_RECORDS - 5) * FULL), 0);
	assert_int_equal(ktls_count(&records, FULL + 1), EKEYEXPIRED);
	assert_int_equal(ktls_count(&records, FULL), 0);
	assert_int_equal(ktls_count(&records, 1), EKEYEXPIRED);
	assert_int_equal(ktls_count(&records, UINT64_MAX), EKEYEXPIRED);
	assert_int_equal(records, TLS_KEY_RECORDS);
}

static void a_kernel_without_it_is_named(void **state)
{
	struct failure failure = {0};
	if (ktls_check(&failure) == 0) {
		assert_false(failure.set);
		return;
	}
	assert_non_null(strstr(failure.text, "the kernel of this host has no TLS (CONFIG_TLS"));
}

/* A connection of which one end makes records and the other does not open them. */
struct line {
	int near;
	int far;
};

static struct line line_open(const uint8_t *near_secret, const uint8_t *far_secret, uint32_t stream)
{
	struct line line;
	struct failure failure = {0};
	struct protect_keys keys;
	const int room = 8 * WHOLE; /* all that is sent, before anybody reads */
	line.near = connected(&line.far);
	assert_int_equal(setsockopt(line.near, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
	if (near_secret != NULL) {
		protect_keys_derive(near_secret, 0, &keys);
		assert_int_equal(ktls_open(line.near, true, &keys, &failure), 0);
	}
	if (far_secret != NULL) {
		protect_keys_derive(far_secret, stream, &keys);
		assert_int_equal(ktls_open(line.far, false, &keys, &failure), 0);
	}
	return line;
}

static void line_close(const struct line *line)
{
	(void)close(line->near);
	(void)close(line->far);
}

static void bytes_make(uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
}

/* What RECORDS full records and the last one are on the wire. */
static size_t wire_record(uint8_t *wire, size_t room)
{
	size_t used = 0;
	static uint8_t bytes[RECORDS * FULL];
	struct line line = line_open(secret, NULL, 0);
	bytes_make(bytes, sizeof(bytes));
	for (size_t i = 0; i < RECORDS; i++)
		assert_int_equal(send(line.near, bytes + i * FULL, FULL, 0), FULL);
	assert_int_equal(ktls_send_end(line.near), 0);
	assert_int_equal(shutdown(line.near, SHUT_WR), 0);
	for (ssize_t got = 1; got > 0; used += (size_t)got) {
		got = recv(line.far, wire + used, room - used, 0);
		assert_true(got >= 0);
	}
	line_close(&line);
	return used;
}

/* A record as RFC 8446, 5.2 and 5.3, has it: libcrypto opens it. How many bytes are its payload. */
static size_t record_open(const uint8_t *record, uint64_t number, uint8_t *bytes, uint8_t *type)
{
	int done = 0;
	int rest = 0;
	uint8_t nonce[12];
	struct protect_keys keys;
	size_t count = (size_t)record[3] << 8 | record[4];
	assert_int_equal(record[0], DATA_TYPE);
	assert_int_equal(record[1], 3);
	assert_int_equal(record[2], 3);
	protect_keys_derive(secret, 0, &keys);
	memcpy(nonce, keys.iv, sizeof(nonce));
	for (unsigned i = 0; i < 8; i++)
		nonce[11 - i] ^= (uint8_t)(number >> 8 * i);
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	assert_int_equal(EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, keys.key, nonce), 1);
	assert_int_equal(EVP_DecryptUpdate(cipher, NULL, &done, record, HEAD), 1);
	assert_int_equal(EVP_DecryptUpdate(cipher, bytes, &done, record + HEAD, (int)(count - TAG)),
			 1);
	assert_int_equal(EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG,
					     (void *)(record + HEAD + count - TAG)),
			 1);
	assert_int_equal(EVP_DecryptFinal_ex(cipher, bytes + done, &rest), 1);
	EVP_CIPHER_CTX_free(cipher);
	*type = bytes[done - 1];
	return (size_t)done - 1;
}

static void records_are_of_tls_1_3(void **state)
{
	uint8_t type;
	static uint8_t wire[2 * RECORDS * WHOLE];
	static uint8_t opened[WHOLE];
	static uint8_t bytes[RECORDS * FULL];
	if (!there())
		return;
	size_t used = wire_record(wire, sizeof(wire));
	bytes_make(bytes, sizeof(bytes));
	assert_int_equal(used, RECORDS * WHOLE + HEAD + 2 + 1 + TAG);
	for (size_t i = 0; i < RECORDS; i++) {
		const uint8_t *record = wire + i * WHOLE;
		assert_int_equal(record_open(record, i, opened, &type), FULL);
		assert_int_equal(type, DATA_TYPE);
		assert_memory_equal(opened, bytes + i * FULL, FULL);
	}
	assert_int_equal(record_open(wire + RECORDS * WHOLE, RECORDS, opened, &type), 2);
	assert_int_equal(type, ALERT_TYPE);
	assert_int_equal(opened[1], 0);
}

/* Of what is written in a file's pages and otherwise, until the last record. */
static void records_pass(void **state)
{
	bool ended = false;
	size_t used = 0;
	off_t from = 0;
	static uint8_t bytes[3 * FULL + 17];
	static uint8_t back[2 * sizeof(bytes)];
	if (!there())
		return;
	struct line line = line_open(secret, secret, 0);
	int file = memfd_create("payload", 0);
	bytes_make(bytes, sizeof(bytes));
	assert_int_equal(write(file, bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(sendfile(line.near, file, &from, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(send(line.near, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(ktls_send_end(line.near), 0);
	while (!ended) {
		ssize_t got = ktls_read(line.far, back + used, sizeof(back) - used + 2, 0, &ended);
		assert_true(got > 0 || (got == 0 && ended));
		used += (size_t)got;
	}
	assert_int_equal(used, sizeof(back));
	assert_memory_equal(back, bytes, sizeof(bytes));
	assert_memory_equal(back + sizeof(bytes), bytes, sizeof(bytes));
	(void)close(file);
	line_close(&line);
}

/* How many bytes open of what is on the wire, and how it ends. */
static size_t wire_open(const uint8_t *wire, size_t count, uint32_t stream, bool *ended, int *error)
{
	size_t used = 0;
	ssize_t got;
	static uint8_t back[2 * RECORDS * WHOLE];
	struct line line = line_open(NULL, secret, stream);
	*ended = false;
	assert_int_equal(send(line.near, wire, count, 0), count);
	assert_int_equal(shutdown(line.near, SHUT_WR), 0);
	while ((got = ktls_read(line.far, back + used, sizeof(back) - used, 0, ended)) > 0)
		used += (size_t)got;
	*error = got < 0 ? errno : 0;
	line_close(&line);
	return used;
}

static void nothing_else_opens(void **state)
{
	bool ended;
	int error;
	static uint8_t wire[2 * RECORDS * WHOLE];
	static uint8_t harmed[2 * RECORDS * WHOLE];
	if (!there())
		return;
	size_t count = wire_record(wire, sizeof(wire));
	assert_int_equal(wire_open(wire, count, 0, &ended, &error), RECORDS * FULL);
	assert_true(ended && error == 0);
	/* A bit of the third record: of its version, length, payload and tag. */
	static const size_t places[] = {1, 2, 3, 4, HEAD, HEAD + 8000, WHOLE - TAG, WHOLE - 1};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(harmed, wire, count);
			harmed[2 * WHOLE + places[i]] ^= (uint8_t)(1U << bit);
			assert_int_equal(wire_open(harmed, count, 0, &ended, &error), 2 * FULL);
			assert_int_equal(error, EBADMSG);
			assert_false(ended);
		}
	}
	/* The first byte is 23 in every record, and Linux does not look at it (tls_make_aad). */
	memcpy(harmed, wire, count);
	harmed[2 * WHOLE] ^= 1;
	assert_int_equal(wire_open(harmed, count, 0, &ended, &error), RECORDS * FULL);
	assert_true(ended && error == 0);
	/* Another stream's. */
	assert_int_equal(wire_open(wire, count, 1, &ended, &error), 0);
	assert_int_equal(error, EBADMSG);
	/* Repeated, left out, moved. */
	memcpy(harmed, wire, WHOLE);
	memcpy(harmed + WHOLE, wire, count);
	assert_int_equal(wire_open(harmed, count + WHOLE, 0, &ended, &error), FULL);
	assert_int_equal(error, EBADMSG);
	memcpy(harmed + WHOLE, wire + 2 * WHOLE, count - 2 * WHOLE);
	assert_int_equal(wire_open(harmed, count - WHOLE, 0, &ended, &error), FULL);
	assert_int_equal(error, EBADMSG);
	memcpy(harmed, wire, count);
	memcpy(harmed + WHOLE, wire + 2 * WHOLE, WHOLE);
	memcpy(harmed + 2 * WHOLE, wire + WHOLE, WHOLE);
	assert_int_equal(wire_open(harmed, count, 0, &ended, &error), FULL);
	assert_int_equal(error, EBADMSG);
	/* Cut between two records, and within one: it does not end as it should. */
	assert_int_equal(wire_open(wire, 2 * WHOLE, 0, &ended, &error), 2 * FULL);
	assert_true(!ended && error == 0);
	assert_int_equal(wire_open(wire, 3 * WHOLE - 1, 0, &ended, &error), 2 * FULL);
	assert_true(!ended && error == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keys_are_of_one_stream_and_secret),
	    cmocka_unit_test(a_kernel_without_it_is_named),
	    cmocka_unit_test(a_key_has_an_end),
	    cmocka_unit_test(records_are_of_tls_1_3),
	    cmocka_unit_test(records_pass),
	    cmocka_unit_test(nothing_else_opens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
