#include "check.h"
#include "payload/block.h"

#include <string.h>

static const struct block_header example = {.stream = 127,
					    .length = 1000,
					    .sequence = UINT64_C(0x0102030405060708),
					    .object = 9,
					    .offset = UINT64_C(1) << 52,
					    .checksum = UINT64_C(0xfedcba9876543210)};

static void headers_come_back(void **state)
{
	uint8_t bytes[BLOCK_HEADER_BYTES];
	struct block_header found = {0};
	block_header_encode(&example, bytes);
	assert_memory_equal(bytes, "DSB1", 4);
	assert_int_equal(bytes[8], 8); /* little-endian */
	assert_true(block_header_decode(bytes, &found));
	assert_int_equal(found.stream, example.stream);
	assert_int_equal(found.length, example.length);
	assert_true(found.sequence == example.sequence);
	assert_true(found.object == example.object);
	assert_true(found.offset == example.offset);
	assert_true(found.checksum == example.checksum);
}

static void every_flipped_bit_is_seen(void **state)
{
	uint8_t bytes[BLOCK_HEADER_BYTES];
	struct block_header found;
	block_header_encode(&example, bytes);
	for (unsigned bit = 0; bit < 8 * BLOCK_HEADER_BYTES; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		assert_false(block_header_decode(bytes, &found));
		bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
	}
	assert_true(block_header_decode(bytes, &found));
}

static void lengths_have_limits(void **state)
{
	uint8_t bytes[BLOCK_HEADER_BYTES];
	struct block_header header = example;
	struct block_header found;
	header.length = 0;
	block_header_encode(&header, bytes);
	assert_false(block_header_decode(bytes, &found));
	header.length = BLOCK_PAYLOAD_MAX + 1;
	block_header_encode(&header, bytes);
	assert_false(block_header_decode(bytes, &found));
	header.length = BLOCK_PAYLOAD_MAX;
	block_header_encode(&header, bytes);
	assert_true(block_header_decode(bytes, &found));
}

static void headers_are_found_anywhere(void **state)
{
	uint8_t bytes[512];
	for (size_t at = 0; at <= sizeof(bytes) - BLOCK_HEADER_BYTES; at++) {
		memset(bytes, 'D', sizeof(bytes));
		if (at >= 60)
			memcpy(bytes + 3, "DSB1DSDSB1", 10); /* decoys */
		block_header_encode(&example, bytes + at);
		assert_int_equal(block_header_find(bytes, sizeof(bytes)), at);
		assert_int_equal(block_header_find(bytes, at + BLOCK_HEADER_BYTES - 1),
				 at + BLOCK_HEADER_BYTES - 1);
	}
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(block_header_find(bytes, sizeof(bytes)), sizeof(bytes));
	assert_int_equal(block_header_find(bytes, 0), 0);
}

static void checksums_know_their_place(void **state)
{
	char payload[64] = "payload";
	struct block_header header = example;
	uint64_t sum = block_checksum(&header, payload, sizeof(payload));
	assert_true(sum == block_checksum(&header, payload, sizeof(payload)));
	payload[63] ^= 1;
	assert_true(sum != block_checksum(&header, payload, sizeof(payload)));
	payload[63] ^= 1;
	assert_true(sum != block_checksum(&header, payload, sizeof(payload) - 1));
	header.sequence++;
	assert_true(sum != block_checksum(&header, payload, sizeof(payload)));
	header = example;
	header.offset++;
	assert_true(sum != block_checksum(&header, payload, sizeof(payload)));
	header = example;
	header.stream++;
	assert_true(sum != block_checksum(&header, payload, sizeof(payload)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(headers_come_back),
	    cmocka_unit_test(every_flipped_bit_is_seen),
	    cmocka_unit_test(lengths_have_limits),
	    cmocka_unit_test(headers_are_found_anywhere),
	    cmocka_unit_test(checksums_know_their_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
