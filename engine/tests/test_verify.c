/* Streams of verified blocks, whole and with each kind of fault. */
#include "check.h"
#include "payload/verify.h"

#include <stdlib.h>
#include <string.h>

#define SEED   42
#define STREAM 3
#define BLOCKS 6
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
	uint8_t *bytes = stream_make();
	struct block_writer writer = block_writer_create(SEED, STREAM + 1, BLOCK_BYTES);
	(void)block_write(&writer, UINT64_MAX, bytes);
	struct verify_report report = stream_verify(bytes, TOTAL, 77777);
	assert_int_equal(report.counts[VERIFY_FOREIGN], 1);
	assert_int_equal(report.counts[VERIFY_MISSING], 1);
	assert_int_equal(verify_fault_count(&report), 2);
	free(bytes);
}

/* Both ends go by the size that was agreed, whatever it is: places and counts follow it. */
static void smaller_blocks_are_verified_too(void **state)
{
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
	    cmocka_unit_test(smaller_blocks_are_verified_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
