/* Streams of verified blocks, whole and with each kind of fault. */
#include "check.h"
#include "net/packet.h"
#include "payload/inflight.h"
#include "payload/making.h"
#include "payload/sending.h"
#include "payload/verify.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SEED   42
#define STREAM 3
/* Of the first block of that stream, by the second implementation and the library of XXH3. */
#define FIRST_CHECKSUM UINT64_C(0x14de965a2aead4b5)
#define BLOCKS         6
/* Of a full block. */
#define BLOCK_PAYLOAD_BYTES (BLOCK_BYTES - BLOCK_HEADER_BYTES)
#define TOTAL               ((size_t)BLOCKS * BLOCK_BYTES - 1000)

static uint8_t *stream_make(void)
{
	uint8_t *bytes = malloc(TOTAL + BLOCK_BYTES);
	struct block_writer writer = block_writer_create(SEED, STREAM, BLOCK_BYTES);
	assert_non_null(bytes);
	for (size_t done = 0; done < TOTAL;)
		done += block_write(&writer, TOTAL - done, bytes + done);
	return bytes;
}

/* As the receiver does it: what is not taken is presented again, with more. */
static struct verify_report stream_verify(const uint8_t *bytes, size_t count, size_t step)
{
	struct verifier *verifier = verifier_create(SEED, STREAM, BLOCK_BYTES, TOTAL);
	size_t done = 0;
	assert_non_null(verifier);
	for (size_t there = 0; there < count;) {
		there = there + step < count ? there + step : count;
		done += verifier_take(verifier, bytes + done, there - done);
	}
	verifier_finish(verifier, true);
	struct verify_report report = *verifier_report(verifier);
	verifier_destroy(verifier);
	return report;
}

static void expect(const struct verify_report *report, enum verify_kind kind, uint64_t block,
		   uint64_t offset)
{
	for (unsigned other = 0; other < VERIFY_KINDS; other++)
		assert_int_equal(report->counts[other], other == kind ? 1 : 0);
	assert_int_equal(report->kept, 1);
	assert_int_equal(report->faults[0].kind, kind);
	assert_int_equal(report->faults[0].stream, STREAM);
	assert_int_equal(report->faults[0].block, block);
	assert_int_equal(report->faults[0].offset, offset);
}

static void sizes_leave_no_crumbs(void **state)
{
	(void)state;
	static const uint32_t sizes[] = {BLOCK_BYTES, 250544, BLOCK_LEAST_BYTES};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t full = sizes[i];
		for (uint64_t total = BLOCK_MIN_BYTES; total < 3 * (uint64_t)full; total += 7) {
			uint64_t left = total;
			uint64_t blocks = 0;
			for (; left > 0; left -= block_size(left, full), blocks++)
				assert_true(left >= BLOCK_MIN_BYTES);
			assert_int_equal(blocks, block_count(total, full));
		}
	}
}

static void whole_streams_have_no_fault(void **state)
{
	(void)state;
	static const size_t steps[] = {47, 4096, BLOCK_BYTES, TOTAL};
	uint8_t *bytes = stream_make();
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct verify_report report = stream_verify(bytes, TOTAL, steps[i]);
		assert_int_equal(verify_fault_count(&report), 0);
		assert_int_equal(report.blocks, BLOCKS);
		assert_int_equal(report.payload_bytes, TOTAL - BLOCKS * BLOCK_HEADER_BYTES);
	}
	free(bytes);
}

static void each_flipped_bit_of_payload_is_located(void **state)
{
	(void)state;
	uint8_t *bytes = stream_make();
	for (size_t at = BLOCK_HEADER_BYTES; at < TOTAL; at += 65521) {
		size_t within = at % BLOCK_BYTES;
		if (within < BLOCK_HEADER_BYTES)
			continue;
		bytes[at] ^= (uint8_t)(1U << at % 8);
		struct verify_report report = stream_verify(bytes, TOTAL, 100000);
		expect(&report, VERIFY_DAMAGED, at / BLOCK_BYTES,
		       at / BLOCK_BYTES * BLOCK_PAYLOAD_BYTES + within - BLOCK_HEADER_BYTES);
		assert_int_equal(report.blocks, BLOCKS - 1);
		bytes[at] ^= (uint8_t)(1U << at % 8);
	}
	free(bytes);
}

static void a_flipped_bit_of_a_header_costs_its_block(void **state)
{
	(void)state;
	uint8_t *bytes = stream_make();
	for (size_t bit = 0; bit < 8 * BLOCK_HEADER_BYTES; bit += 5) {
		uint8_t *byte = bytes + 2 * (size_t)BLOCK_BYTES + bit / 8;
		*byte ^= (uint8_t)(1U << bit % 8);
		struct verify_report report = stream_verify(bytes, TOTAL, 100000);
		assert_int_equal(report.counts[VERIFY_UNREADABLE], 1);
		assert_int_equal(report.counts[VERIFY_MISSING], 1);
		assert_int_equal(verify_fault_count(&report), 2);
		assert_int_equal(report.faults[0].block, 2);
		assert_int_equal(report.blocks, BLOCKS - 1);
		*byte ^= (uint8_t)(1U << bit % 8);
	}
	free(bytes);
}

static void swapped_repeated_and_missing_blocks_are_told_apart(void **state)
{
	(void)state;
	uint8_t *bytes = stream_make();
	uint8_t *other = malloc(TOTAL + BLOCK_BYTES);
	size_t block = BLOCK_BYTES;
	assert_non_null(other);

	memcpy(other, bytes, TOTAL);
	memcpy(other + block, bytes + 2 * block, block);
	memcpy(other + 2 * block, bytes + block, block);
	struct verify_report report = stream_verify(other, TOTAL, 77777);
	expect(&report, VERIFY_MISPLACED, 1, BLOCK_PAYLOAD_BYTES);
	assert_int_equal(report.blocks, BLOCKS);

	memcpy(other, bytes, 3 * block);
	memcpy(other + 3 * block, bytes + 2 * block, TOTAL - 2 * block);
	report = stream_verify(other, TOTAL + block, 77777);
	expect(&report, VERIFY_REPEATED, 2, UINT64_C(2) * BLOCK_PAYLOAD_BYTES);

	memcpy(other, bytes, 3 * block);
	memcpy(other + 3 * block, bytes + 4 * block, TOTAL - 4 * block);
	report = stream_verify(other, TOTAL - block, 77777);
	expect(&report, VERIFY_MISSING, 3, UINT64_C(3) * BLOCK_PAYLOAD_BYTES);

	report = stream_verify(bytes, 4 * block, 77777);
	assert_int_equal(report.counts[VERIFY_MISSING], 2);
	assert_int_equal(verify_fault_count(&report), 2);
	free(other);
	free(bytes);
}

static void cut_and_inserted_bytes_cost_one_block(void **state)
{
	(void)state;
	uint8_t *bytes = stream_make();
	uint8_t *other = malloc(TOTAL + BLOCK_BYTES);
	size_t at = 2 * (size_t)BLOCK_BYTES + 5000;
	assert_non_null(other);

	memcpy(other, bytes, at);
	memcpy(other + at, bytes + at + 1448, TOTAL - at - 1448);
	struct verify_report report = stream_verify(other, TOTAL - 1448, 77777);
	expect(&report, VERIFY_CUT, 2,
	       UINT64_C(2) * BLOCK_PAYLOAD_BYTES + 5000 - BLOCK_HEADER_BYTES);
	assert_int_equal(report.blocks, BLOCKS - 1);

	memcpy(other, bytes, at);
	memcpy(other + at, bytes + at - 1448, TOTAL - at + 1448);
	report = stream_verify(other, TOTAL + 1448, 77777);
	assert_int_equal(report.counts[VERIFY_DAMAGED], 1);
	assert_int_equal(report.counts[VERIFY_UNREADABLE], 1);
	assert_int_equal(verify_fault_count(&report), 2);
	assert_int_equal(report.blocks, BLOCKS - 1);
	free(other);
	free(bytes);
}

static void foreign_blocks_are_refused(void **state)
{
	(void)state;
	uint8_t *bytes = stream_make();
	struct block_writer writer = block_writer_create(SEED, STREAM + 1, BLOCK_BYTES);
	(void)block_write(&writer, UINT64_MAX, bytes);
	struct verify_report report = stream_verify(bytes, TOTAL, 77777);
	assert_int_equal(report.counts[VERIFY_FOREIGN], 1);
	assert_int_equal(report.counts[VERIFY_MISSING], 1);
	assert_int_equal(verify_fault_count(&report), 2);
	free(bytes);
}

static void any_part_can_be_made_again(void **state)
{
	(void)state;
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

/* Computed by a second implementation, tests/test_engine_payload.py. */
static void the_bytes_are_those_of_the_description(void **state)
{
	(void)state;
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

static void slots_in_flight_are_not_used_again(void **state)
{
	(void)state;
	struct source source;
	struct inflight inflight;
	struct piece first;
	struct piece second;
	struct piece third;
	assert_int_equal(source_open_blocks(&source, SEED, STREAM, BLOCK_BYTES, 2), 0);
	assert_int_equal(inflight_open(&inflight, &source), 0);
	assert_true(source_next(&source, UINT64_MAX, &first));
	assert_true(source_next(&source, UINT64_MAX, &second));
	assert_false(source_next(&source, UINT64_MAX, &third));
	/* The first block took calls 0 and 1, the second call 2; their ends come out of order. */
	inflight_call(&inflight, 0, first.slot);
	inflight_call(&inflight, 1, first.slot);
	inflight_close_slot(&inflight, first.slot);
	inflight_call(&inflight, 2, second.slot);
	inflight_done(&inflight, 1);
	inflight_done(&inflight, 1);
	inflight_done(&inflight, 2);
	assert_false(source_next(&source, UINT64_MAX, &third));
	inflight_close_slot(&inflight, second.slot);
	assert_true(source_next(&source, UINT64_MAX, &third));
	assert_int_equal(third.slot, second.slot);
	assert_false(inflight_room(&inflight, 8)); /* the room of call 0 */
	inflight_done(&inflight, 0);
	assert_true(inflight_room(&inflight, 8));
	assert_true(source_next(&source, UINT64_MAX, &third));
	assert_int_equal(third.slot, first.slot);
	inflight_release(&inflight);
	source_close(&source);
}

/* Each way against the generator and the library, at every kind of length and alignment. */
static void ways_of_making_give_the_same_bytes_and_sums(void **state)
{
	(void)state;
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
	for (unsigned i = 0; making_way(i) != NULL; i++) {
		const struct making_way *way = making_way(i);
		for (unsigned c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
			size_t count = counts[c];
			uint64_t seed = c % 2 != 0 ? UINT64_C(0xfedcba9876543210) + c : 0;
			uint64_t offset = c * 7 * GENERATOR_PIECE_BYTES;
			uint8_t *bytes = made + c % 3 * 24; /* 24, 48: across cache lines */
			generator_fill(&generator, offset, right, count);
			memset(made, 0xa5, sizeof(made));
			uint64_t sum = XXH3_64bits_withSeed(right, count, seed);
			assert_true(making_fill(way, &generator, offset, bytes, count, seed) ==
				    sum);
			assert_memory_equal(bytes, right, count);
			assert_int_equal(bytes[count], 0xa5); /* nothing beyond */
			assert_true(making_sum(way, bytes, count, seed) == sum);
			bytes[count / 2] ^= 1;
			assert_true(making_sum(way, bytes, count, seed) != sum);
		}
	}
	assert_string_equal(making_way_name(making_way(0)), "portable");
}

/* What the wire carries; other bytes are another version of the protocol. */
static void the_first_block_is_that_of_the_description(void **state)
{
	(void)state;
	static uint8_t bytes[BLOCK_BYTES];
	struct block_header header;
	struct block_writer writer = block_writer_create(SEED, STREAM, BLOCK_BYTES);
	assert_int_equal(block_write(&writer, UINT64_MAX, bytes), BLOCK_BYTES);
	assert_true(block_header_decode(bytes, &header));
	assert_true(header.checksum == FIRST_CHECKSUM);
}

/* 44, 45 and 7 segments of Ethernet's sizes, and what tests/test_engine_path.py sees on a device.
 */
static void packets_are_whole_segments(void **state)
{
	(void)state;
	assert_int_equal(packet_bytes(1448, 0, PACKET_PAGES_BYTES), 45 * 1448);
	assert_int_equal(packet_bytes(8948, 65536, PACKET_PAGES_BYTES), 7 * 8948);
	assert_int_equal(packet_bytes(1448, 64000, PACKET_PAGES_BYTES), 43 * 1448);
	/* BIG TCP: the device would take more than 16 pages are. */
	assert_int_equal(packet_bytes(1448, 262144, PACKET_PAGES_BYTES), 45 * 1448);
	assert_int_equal(packet_bytes(1448, 262144, BLOCK_BYTES), 180 * 1448);
	/* Nothing to choose: no size, loopback's, a device that segments nothing. */
	assert_int_equal(packet_bytes(0, 65536, PACKET_PAGES_BYTES), 0);
	assert_int_equal(packet_bytes(65483, 65536, PACKET_PAGES_BYTES), 0);
	assert_int_equal(packet_bytes(1448, 1514, PACKET_PAGES_BYTES), 0);
	assert_int_equal(packet_bytes(1448, 100, PACKET_PAGES_BYTES), 0);
}

static void blocks_are_whole_packets(void **state)
{
	(void)state;
	assert_int_equal(block_bytes_choose(0), BLOCK_BYTES);
	assert_int_equal(block_bytes_choose(BLOCK_BYTES + 1), BLOCK_BYTES);
	assert_int_equal(block_bytes_choose(7 * 8948), 4 * 7 * 8948);
	assert_int_equal(block_bytes_choose(45 * 1448), 4 * 45 * 1448);
	for (uint32_t packet = 1; packet <= BLOCK_BYTES; packet += 977) {
		uint32_t block = block_bytes_choose(packet);
		assert_int_equal(block % packet, 0);
		assert_true(block >= BLOCK_LEAST_BYTES && block <= BLOCK_BYTES);
	}
}

/* Both ends go by the size that was agreed, whatever it is: places and counts follow it. */
static void smaller_blocks_are_verified_too(void **state)
{
	(void)state;
	const uint32_t full = 4 * 7 * 8948;
	const uint64_t total = UINT64_C(5) * full + 1000;
	uint8_t *bytes = malloc(total);
	struct block_writer writer = block_writer_create(SEED, STREAM, full);
	assert_non_null(bytes);
	for (uint64_t done = 0; done < total;)
		done += block_write(&writer, total - done, bytes + done);
	bytes[3 * (size_t)full + BLOCK_HEADER_BYTES + 4711] ^= 1;
	for (uint32_t other = full; other <= BLOCK_BYTES; other += BLOCK_BYTES - full) {
		struct verifier *verifier = verifier_create(SEED, STREAM, other, total);
		assert_non_null(verifier);
		assert_true(verifier_take(verifier, bytes, total) <= total);
		verifier_finish(verifier, true);
		struct verify_report report = *verifier_report(verifier);
		if (other == full) {
			expect(&report, VERIFY_DAMAGED, 3,
			       UINT64_C(3) * (full - BLOCK_HEADER_BYTES) + 4711);
			assert_int_equal(report.blocks, 5);
		} else {
			/* Who goes by another size accepts the first block alone. */
			assert_int_equal(report.blocks, 1);
		}
		verifier_destroy(verifier);
	}
	free(bytes);
}

static void the_way_of_sending_has_a_reason(void **state)
{
	(void)state;
	char why[192];
	struct failure failure = {0};
	struct sending_facts facts = {.device = "eth7", .zerocopy_there = true};
	assert_int_equal(send_way_choose(&facts, why, sizeof(why)), SEND_SPLICE);
	assert_non_null(strstr(why, "sealed file"));
	facts.calls_dear = true;
	assert_int_equal(send_way_choose(&facts, why, sizeof(why)), SEND_SENDFILE);
	facts.huge = true;
	assert_int_equal(send_way_choose(&facts, why, sizeof(why)), SEND_SPLICE);
	assert_non_null(strstr(why, "huge pages"));
	facts.bytes = 1000;
	assert_int_equal(send_way_choose(&facts, why, sizeof(why)), SEND_WRITE);
	facts.bytes = 0;
	facts.made = true;
	assert_int_equal(send_way_choose(&facts, why, sizeof(why)), SEND_ZEROCOPY);
	assert_non_null(strstr(why, "eth7"));
	facts.device_copies = true;
	assert_int_equal(send_way_choose(&facts, why, sizeof(why)), SEND_WRITE);
	facts.asked = SEND_URING;
	assert_int_equal(send_way_choose(&facts, why, sizeof(why)), SEND_URING);
	assert_string_equal(why, "asked for");
	assert_int_equal(send_way_check(SEND_SPLICE, true, &failure), -1);
	assert_non_null(strstr(failure.text, "use write, zerocopy or io_uring"));
	assert_int_equal(send_way_check(SEND_SPLICE, false, &failure), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sizes_leave_no_crumbs),
	    cmocka_unit_test(whole_streams_have_no_fault),
	    cmocka_unit_test(each_flipped_bit_of_payload_is_located),
	    cmocka_unit_test(a_flipped_bit_of_a_header_costs_its_block),
	    cmocka_unit_test(swapped_repeated_and_missing_blocks_are_told_apart),
	    cmocka_unit_test(cut_and_inserted_bytes_cost_one_block),
	    cmocka_unit_test(foreign_blocks_are_refused),
	    cmocka_unit_test(any_part_can_be_made_again),
	    cmocka_unit_test(the_bytes_are_those_of_the_description),
	    cmocka_unit_test(slots_in_flight_are_not_used_again),
	    cmocka_unit_test(ways_of_making_give_the_same_bytes_and_sums),
	    cmocka_unit_test(the_first_block_is_that_of_the_description),
	    cmocka_unit_test(packets_are_whole_segments),
	    cmocka_unit_test(blocks_are_whole_packets),
	    cmocka_unit_test(smaller_blocks_are_verified_too),
	    cmocka_unit_test(the_way_of_sending_has_a_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
