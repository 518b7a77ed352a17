/* The payload's bytes: those of the description, by each way of making them, wherever one begins.
 */
#include "check.h"
#include "payload/block_fill.h"
#include "payload/verify.h"

#include <endian.h>
#include <string.h>
#include <xxhash.h>

#define SEED   42
#define STREAM 3
/* Of the first block of that stream, by the second implementation and the library of XXH3. */
#define FIRST_CHECKSUM UINT64_C(0x14de965a2aead4b5)

static void any_part_can_be_made_again(void **state)
{
	static uint8_t whole[40000];
	uint8_t part[1000];
	struct generator generator = generator_create(7, 1);
	generator_fill(&generator, 0, whole, sizeof(whole));
	for (size_t at = 0; at + sizeof(part) <= sizeof(whole); at += 88) {
		size_t count = at % sizeof(part) + 1;
		generator_fill(&generator, at, part, count);
		assert_memory_equal(part, whole + at, count);
	}
	generator = generator_create(7, 2);
	generator_fill(&generator, 0, part, sizeof(part));
	assert_memory_not_equal(part, whole, 16);
	generator = generator_create(8, 1);
	generator_fill(&generator, 0, part, sizeof(part));
	assert_memory_not_equal(part, whole, 16);
}

/* Computed by a second implementation, tests/engine/test_payload.py. */
static void the_bytes_are_those_of_the_description(void **state)
{
	static uint8_t fast[5 * GENERATOR_PIECE_BYTES];
	static uint8_t plain[sizeof(fast)];
	static const struct {
		size_t word;
		uint64_t value;
	} known[] = {{0, UINT64_C(0x0c96c48654af6f11)},   {1, UINT64_C(0x15601c503944c99e)},
		     {5, UINT64_C(0x4cab066b977ea857)},   {8, UINT64_C(0xe738f110b2f34870)},
		     {16, UINT64_C(0x7f7cfc8ee4bc3569)},  {24, UINT64_C(0xa95f0da85872c0cc)},
		     {2047, UINT64_C(0xf5424aba4b8589ee)}};
	struct generator generator = generator_create(7, 1);
	generator_fill(&generator, 0, fast, sizeof(fast));
	generator = generator_create_plain(7, 1);
	generator_fill(&generator, 0, plain, sizeof(plain));
	assert_memory_equal(fast, plain, sizeof(fast));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint64_t word;
		memcpy(&word, fast + 2 * GENERATOR_PIECE_BYTES + 8 * known[i].word, sizeof(word));
		assert_int_equal(le64toh(word), known[i].value);
	}
}

/* Each way against the generator and the library, at every kind of length and alignment. */
static void ways_of_making_give_the_same_bytes_and_sums(void **state)
{
	static uint8_t right[3 * GENERATOR_PIECE_BYTES + 200];
	static uint8_t made[sizeof(right) + 64];
	static const size_t counts[] = {1,
					240,
					241,
					1024,
					1025,
					2048,
					2049,
					GENERATOR_PIECE_BYTES,
					GENERATOR_PIECE_BYTES + 1,
					GENERATOR_PIECE_BYTES + 63,
					GENERATOR_PIECE_BYTES + 64,
					GENERATOR_PIECE_BYTES + 65,
					2 * GENERATOR_PIECE_BYTES - 48,
					2 * GENERATOR_PIECE_BYTES + 1024,
					3 * GENERATOR_PIECE_BYTES,
					sizeof(right)};
	struct generator generator = generator_create_plain(SEED, STREAM);
	for (unsigned i = 0; fill_method(i) != NULL; i++) {
		const struct fill_method *way = fill_method(i);
		for (unsigned c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
			size_t count = counts[c];
			uint64_t seed = c % 2 != 0 ? UINT64_C(0xfedcba9876543210) + c : 0;
			uint64_t offset = c * 7 * GENERATOR_PIECE_BYTES;
			uint8_t *bytes = made + c % 3 * 24; /* 24, 48: across cache lines */
			generator_fill(&generator, offset, right, count);
			memset(made, 0xa5, sizeof(made));
			uint64_t sum = XXH3_64bits_withSeed(right, count, seed);
			assert_true(block_fill(way, &generator, offset, bytes, count, seed) == sum);
			assert_memory_equal(bytes, right, count);
			assert_int_equal(bytes[count], 0xa5); /* nothing beyond */
			assert_true(block_sum(way, bytes, count, seed) == sum);
			bytes[count / 2] ^= 1;
			assert_true(block_sum(way, bytes, count, seed) != sum);
		}
	}
	assert_string_equal(fill_method_name(fill_method(0)), "portable");
}

/* What the wire carries; other bytes are another version of the protocol. */
static void the_first_block_is_that_of_the_description(void **state)
{
	static uint8_t bytes[BLOCK_BYTES];
	struct block_header header;
	struct block_writer writer = block_writer_create(SEED, STREAM, BLOCK_BYTES);
	assert_int_equal(block_write(&writer, UINT64_MAX, bytes), BLOCK_BYTES);
	assert_true(block_header_decode(bytes, &header));
	assert_true(header.checksum == FIRST_CHECKSUM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(any_part_can_be_made_again),
	    cmocka_unit_test(the_bytes_are_those_of_the_description),
	    cmocka_unit_test(ways_of_making_give_the_same_bytes_and_sums),
	    cmocka_unit_test(the_first_block_is_that_of_the_description),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
