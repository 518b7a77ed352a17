/* Records open once, whole, unchanged, in their order, in their stream and session; nothing else
 * does. */
#include "check.h"
#include "protect/protect.h"

#include <openssl/evp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define TRIALS 10000

static const uint8_t secret[PROTECT_SECRET_BYTES] = {1, 2, 3};
static const enum protect_mode modes[] = {PROTECT_MAC, PROTECT_AEAD};

struct sealed {
	uint8_t bytes[PROTECT_RECORD_BYTES];
	size_t count;
};

static void seal(struct protector *from, enum protect_kind kind, const uint8_t *bytes,
		 uint32_t count, struct sealed *record)
{
	uint8_t *room = malloc(PROTECT_PAYLOAD_BYTES);
	const uint8_t *travels;
	uint8_t tag[PROTECT_TAG_BYTES];
	assert_true(protector_seal(from, kind, bytes, count, room, record->bytes, &travels, tag));
	if (count != 0)
		memcpy(record->bytes + PROTECT_HEAD_BYTES, travels, count);
	memcpy(record->bytes + PROTECT_HEAD_BYTES + count, tag, sizeof(tag));
	record->count = PROTECT_HEAD_BYTES + count + PROTECT_TAG_BYTES;
	free(room);
}

static void records_pass(void **state)
{
	static struct sealed record;
	static uint8_t bytes[PROTECT_PAYLOAD_BYTES];
	static uint8_t back[PROTECT_PAYLOAD_BYTES];
	static const uint32_t counts[] = {1, 15, 16, 17, 4096, PROTECT_PAYLOAD_BYTES};
	for (size_t m = 0; m < 2; m++) {
		struct protector *from = protector_create(modes[m], true, secret, 7);
		struct protector *to = protector_create(modes[m], false, secret, 7);
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			uint32_t count;
			randombytes_buf(bytes, counts[i]);
			seal(from, PROTECT_DATA, bytes, counts[i], &record);
			bool hidden =
			    memcmp(record.bytes + PROTECT_HEAD_BYTES, bytes, counts[i]) != 0;
			assert_int_equal(hidden || counts[i] == 1,
					 modes[m] == PROTECT_AEAD || counts[i] == 1);
			assert_true(protector_head(to, record.bytes, &count));
			assert_int_equal(count, counts[i]);
			assert_true(protector_open(to, record.bytes, back));
			assert_memory_equal(back, bytes, counts[i]);
			assert_false(protector_ended(to));
		}
		seal(from, PROTECT_END, NULL, 0, &record);
		assert_true(protector_open(to, record.bytes, back));
		assert_true(protector_ended(to));
		/* Behind it nothing is taken. */
		seal(from, PROTECT_DATA, bytes, 5, &record);
		assert_false(protector_open(to, record.bytes, back));
		protector_destroy(from);
		protector_destroy(to);
	}
}

/* One of them, once, in one of many ways; which is by chance, so 10 000 times. */
static void every_change_is_found(void **state)
{
	uint8_t bytes[256];
	static uint8_t back[PROTECT_PAYLOAD_BYTES];
	static struct sealed records[3];
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		enum protect_mode mode = modes[trial % 2];
		struct protector *from = protector_create(mode, true, secret, 7);
		struct protector *to = protector_create(mode, false, secret, 7);
		for (unsigned i = 0; i < 3; i++) {
			randombytes_buf(bytes, sizeof(bytes));
			seal(from, PROTECT_DATA, bytes, 1 + randombytes_uniform(sizeof(bytes)),
			     &records[i]);
		}
		assert_true(protector_open(to, records[0].bytes, back));
		struct sealed *next = &records[1];
		uint32_t bit = randombytes_uniform((uint32_t)next->count * 8);
		switch (trial / 2 % 4) {
		case 0: /* flipped */
			next->bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
			break;
		case 1: /* moved, or the one before it left out */
			next = &records[2];
			break;
		case 2: /* repeated */
			next = &records[0];
			break;
		default: /* cut: a shorter record with the same tag */
			next->bytes[7] ^= 1;
			memmove(next->bytes + next->count - PROTECT_TAG_BYTES - 1,
				next->bytes + next->count - PROTECT_TAG_BYTES, PROTECT_TAG_BYTES);
		}
		memset(back, 0x55, sizeof(back));
		assert_false(protector_open(to, next->bytes, back));
		protector_destroy(from);
		protector_destroy(to);
	}
}

static void keys_are_of_one_stream_one_mode_and_one_session(void **state)
{
	static const uint8_t other[PROTECT_SECRET_BYTES] = {1, 2, 4};
	static struct sealed record;
	static uint8_t back[PROTECT_PAYLOAD_BYTES];
	struct protector *from = protector_create(PROTECT_AEAD, true, secret, 7);
	seal(from, PROTECT_DATA, (const uint8_t *)"sixteen bytes...", 16, &record);
	struct protector *wrong[] = {protector_create(PROTECT_AEAD, false, secret, 8),
				     protector_create(PROTECT_MAC, false, secret, 7),
				     protector_create(PROTECT_AEAD, false, other, 7)};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(protector_open(wrong[i], record.bytes, back));
		protector_destroy(wrong[i]);
	}
	protector_destroy(from);
}

static void heads_are_checked(void **state)
{
	uint32_t count;
	struct protector *to = protector_create(PROTECT_AEAD, false, secret, 0);
	static const uint8_t wrong[][PROTECT_HEAD_BYTES] = {
	    {2, 0, 0, 0, 0, 0, 0, 1}, /* no kind */
	    {0, 1, 0, 0, 0, 0, 0, 1}, /* not zero */
	    {0, 0, 0, 0, 0, 1, 0, 1}, /* too long */
	    {0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff},
	    {0, 0, 0, 0, 0, 0, 0, 0}, /* nothing, and not the end */
	    {1, 0, 0, 0, 0, 0, 0, 1}, /* an end with something in it */
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(protector_head(to, wrong[i], &count));
	assert_true(protector_head(to, (const uint8_t[]){0, 0, 0, 0, 0, 1, 0, 0}, &count));
	assert_int_equal(count, PROTECT_PAYLOAD_BYTES);
	protector_destroy(to);
}

/* As stream_write() cuts them: full records and a last one. */
static void what_fits_travels_as_that_much(void **state)
{
	static const uint32_t extra = PROTECT_HEAD_BYTES + PROTECT_TAG_BYTES;
	for (uint32_t wire = extra + 1; wire < 5 * PROTECT_RECORD_BYTES; wire += 7) {
		/* No record is empty, so these are not to be had. */
		if (wire % PROTECT_RECORD_BYTES > 0 && wire % PROTECT_RECORD_BYTES <= extra)
			continue;
		uint32_t fits = protect_fit(PROTECT_AEAD, wire);
		uint32_t records = (fits + PROTECT_PAYLOAD_BYTES - 1) / PROTECT_PAYLOAD_BYTES;
		assert_int_equal(fits + records * extra, wire);
		assert_int_equal(protect_fit(PROTECT_MAC, wire), fits);
		assert_int_equal(protect_fit(PROTECT_NONE, wire), wire);
	}
}

static void names_round_trip(void **state)
{
	enum protect_mode mode;
	for (enum protect_mode m = PROTECT_NONE; m < PROTECT_MODES; m++) {
		assert_true(protect_mode_parse(protect_mode_name(m), &mode));
		assert_int_equal(mode, m);
	}
	assert_false(protect_mode_parse("some", &mode));
}

static void payload_is_what_records_leave(void **state)
{
	assert_int_equal(protect_payload(PROTECT_NONE, 70000), 70000);
	assert_int_equal(protect_payload(PROTECT_AEAD, 8), 0);
	assert_int_equal(protect_payload(PROTECT_MAC, 9), 1);
	assert_int_equal(protect_payload(PROTECT_AEAD, 65536 + 23), 65536);
	assert_int_equal(protect_payload(PROTECT_AEAD, 2 * (65536 + 24) + 10), 2 * 65536 + 2);
	assert_int_equal(protect_payload(PROTECT_KTLS, 16384 + 21), 16384);
	assert_int_equal(protect_payload(PROTECT_KTLS, 100 * (16384 + 22) + 6), 100 * 16384 + 1);
}

static void hmac(const uint8_t key[32], const void *bytes, size_t count, uint8_t out[32])
{
	assert_int_equal(crypto_auth_hmacsha512256(out, bytes, count, key), 0);
}

/* Does libcrypto open a record of one byte with that key at that number? */
static bool opens(const uint8_t *record, const uint8_t key[32], uint64_t number)
{
	int done = 0;
	uint8_t byte = 0;
	uint8_t nonce[12] = {0};
	uint8_t tag[PROTECT_TAG_BYTES];
	for (unsigned i = 0; i < 8; i++)
		nonce[11 - i] = (uint8_t)(number >> 8 * i);
	memcpy(tag, record + PROTECT_HEAD_BYTES + 1, sizeof(tag));
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
	bool opened =
	    EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, nonce) == 1 &&
	    EVP_DecryptUpdate(cipher, NULL, &done, record, PROTECT_HEAD_BYTES) == 1 &&
	    EVP_DecryptUpdate(cipher, &byte, &done, record + PROTECT_HEAD_BYTES, 1) == 1 &&
	    EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, sizeof(tag), tag) == 1 &&
	    EVP_DecryptFinal_ex(cipher, &byte, &done) == 1;
	EVP_CIPHER_CTX_free(cipher);
	return opened && byte == 7;
}

/* Both ends take the next key at the same record, as protect.h says; the old one opens no more. */
static void keys_change_after_as_many_records(void **state)
{
	static const char label[] = "landspeed-engine/3 records from sender to receiver\0\2\0\0\0";
	static const char next[] = "landspeed-engine/3 next key";
	static uint8_t opened[PROTECT_PAYLOAD_BYTES];
	static const uint8_t byte = 7;
	const uint8_t *sealed;
	uint8_t room[1];
	uint8_t record[PROTECT_HEAD_BYTES + 1 + PROTECT_TAG_BYTES];
	uint8_t keys[2][32];
	hmac(secret, label, sizeof(label), keys[0]); /* its NUL is the last one of the stream 0 */
	hmac(keys[0], next, sizeof(next), keys[1]);
	struct protector *from = protector_create(PROTECT_AEAD, true, secret, 0);
	struct protector *to = protector_create(PROTECT_AEAD, false, secret, 0);
	for (uint64_t i = 0; i < PROTECT_KEY_RECORDS + 2; i++) {
		bool late = i >= PROTECT_KEY_RECORDS;
		assert_true(protector_seal(from, PROTECT_DATA, &byte, 1, room, record, &sealed,
					   record + PROTECT_HEAD_BYTES + 1));
		record[PROTECT_HEAD_BYTES] = *sealed;
		if (late || i == 0 || i == PROTECT_KEY_RECORDS - 1) {
			assert_true(opens(record, keys[late ? 1 : 0], i));
			assert_false(opens(record, keys[late ? 0 : 1], i));
		}
		assert_true(protector_open(to, record, opened));
	}
	protector_destroy(from);
	protector_destroy(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(payload_is_what_records_leave),
	    cmocka_unit_test(records_pass),
	    cmocka_unit_test(every_change_is_found),
	    cmocka_unit_test(keys_are_of_one_stream_one_mode_and_one_session),
	    cmocka_unit_test(heads_are_checked),
	    cmocka_unit_test(what_fits_travels_as_that_much),
	    cmocka_unit_test(names_round_trip),
	    cmocka_unit_test(keys_change_after_as_many_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
