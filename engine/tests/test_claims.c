/* What a journal claims is proved beside the transfer, by reading it back, and taken back where it
 * is not there. */
#include "files/message.h"
#include "store_bench.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file's bitmap as the messages so far make it; returns how many there were. */
static unsigned bitmap_follow(struct store *store, uint8_t *bits, uint32_t blocks)
{
	cJSON *message;
	unsigned found = 0;
	static uint8_t bytes[HAVE_BLOCKS / 8];
	while ((message = store_take(store)) != NULL) {
		struct failure failure = {0};
		struct have have = {.bitmap = bytes};
		char *text = json_print(message);
		cJSON_Delete(message);
		message = cJSON_Parse(text);
		free(text);
		if (cJSON_HasObjectItem(message, "bitmap")) {
			found++;
			assert_int_equal(have_decode(message, &have, &failure), 0);
			assert_int_equal(have.first_block % 8, 0);
			assert_true(have.first_block + have.blocks <= blocks);
			memcpy(bits + have.first_block / 8, bytes, (have.blocks + 7) / 8);
		}
		cJSON_Delete(message);
	}
	return found;
}

/* The first `claimed` blocks are there and in the journal; what is in the middle of one is spoilt.
 */
static struct bench bench_resume(uint32_t blocks, uint32_t claimed, uint32_t spoilt)
{
	struct failure failure = {0};
	struct bench bench = bench_open();
	file_list(bench.store, blocks);
	for (uint32_t block = 0; block < claimed; block++)
		assert_int_equal(block_put(bench.store, block, true, &failure), 0);
	store_destroy(bench.store);
	int fd = openat(bench.root, ".file.landspeed-partial", O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	if (spoilt < blocks)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)spoilt * FILE_BLOCK_BYTES + 77), 1);
	(void)close(fd);
	bench_store(&bench);
	return bench;
}

static uint64_t until_settled(struct store *store)
{
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;
	while (!store_settled(store)) {
		assert_true(clock_monotonic_ns() < end_ns);
		nap();
	}
	return clock_monotonic_ns();
}

/*
 * The list is taken, and all that no journal claims is written, while the disk has not given back
 * one claimed block; several threads wait for it at once.
 */
static void claims_are_proved_beside_the_transfer(void **state)
{
	enum { BLOCKS = 74, CLAIMED = 64 };
	uint8_t bits[BLOCKS / 8 + 1] = {0};
	struct store_counts counts;
	struct failure failure = {0};
	struct bench bench = bench_resume(BLOCKS, CLAIMED, BLOCKS);
	atomic_store(&reads_wait, true);
	uint64_t start_ns = clock_monotonic_ns();
	file_list(bench.store, BLOCKS);
	assert_int_equal(bitmap_follow(bench.store, bits, BLOCKS), 1);
	for (uint32_t block = 0; block < BLOCKS; block++)
		assert_int_equal(bits[block / 8] >> block % 8 & 1, block < CLAIMED);
	for (uint32_t block = CLAIMED; block < BLOCKS; block++)
		assert_int_equal(block_put(bench.store, block, true, &failure), 0);
	store_count(bench.store, &counts);
	assert_int_equal(counts.blocks_verified, BLOCKS - CLAIMED);
	assert_int_equal(counts.blocks_resumed, 0);
	assert_int_equal(counts.blocks_unread, CLAIMED);
	assert_true(counts.proving > 0);
	wait_for(&reads_waiting, 4);
	assert_true(clock_monotonic_ns() - start_ns < WAIT_NS / 4);
	atomic_store(&reads_wait, false);
	(void)until_settled(bench.store);
	store_count(bench.store, &counts);
	assert_int_equal(counts.blocks_resumed, CLAIMED);
	assert_true(counts.bytes_resumed == (uint64_t)CLAIMED * FILE_BLOCK_BYTES);
	assert_int_equal(counts.blocks_unproved, 0);
	assert_int_equal(counts.blocks_unread, 0);
	assert_int_equal(bitmap_follow(bench.store, bits, BLOCKS), 0);
	do {
		nap();
		store_count(bench.store, &counts);
	} while (counts.proving > 0 && clock_monotonic_ns() < start_ns + WAIT_NS);
	assert_int_equal(counts.proving, 0);
	assert_true(store_close(bench.store, true, &failure));
	store_count(bench.store, &counts);
	assert_int_equal(counts.files_done, 1);
	bench_close(&bench);
}

/* A claim that the disk does not prove is taken back, and its block comes. */
static void a_claim_that_fails_is_taken_back(void **state)
{
	enum { BLOCKS = 83, SPOILT = 50, CLAIMED = BLOCKS - 1 };
	uint8_t bits[BLOCKS / 8 + 1] = {0};
	struct store_counts counts;
	struct failure failure = {0};
	struct bench bench = bench_resume(BLOCKS, CLAIMED, SPOILT);
	file_list(bench.store, BLOCKS);
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;
	unsigned told = 0;
	do {
		assert_true(clock_monotonic_ns() < end_ns);
		nap();
		store_count(bench.store, &counts);
		told += bitmap_follow(bench.store, bits, BLOCKS);
	} while (counts.blocks_unread > 0 || told < 2); /* the last is counted before it is told */
	assert_int_equal(told, 2);
	for (uint32_t block = 0; block < BLOCKS; block++)
		assert_int_equal(bits[block / 8] >> block % 8 & 1,
				 block != SPOILT && block < CLAIMED);
	assert_int_equal(counts.blocks_unproved, 1);
	assert_int_equal(counts.blocks_resumed, CLAIMED - 1);
	assert_false(store_settled(bench.store));
	assert_int_equal(block_put(bench.store, SPOILT, true, &failure), 0);
	assert_int_equal(block_put(bench.store, CLAIMED, true, &failure), 0);
	(void)until_settled(bench.store);
	bench_close(&bench);
}

/* Blocks that are claimed come nevertheless, damaged ones too, and the end comes in between. */
static void proofs_stand_in_nobodys_way(void **state)
{
	enum { BLOCKS = 50 };
	struct store_counts counts;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct bench bench = bench_resume(BLOCKS, BLOCKS - 2, round);
		struct writer writer = {.store = bench.store, .count = BLOCKS, .whole = true};
		struct writer damager = {
		    .store = bench.store, .first = BLOCKS - 1, .count = FAULTS, .same = true};
		file_list(bench.store, BLOCKS);
		writer_start(&writer);
		if (round % 2 == 1)
			writer_start(&damager);
		writer_join(&writer);
		if (round % 2 == 1)
			writer_join(&damager);
		if (round % 3 != 0) {
			(void)until_settled(bench.store);
			store_count(bench.store, &counts);
			assert_int_equal(counts.settled, 1);
		}
		bench_close(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(claims_are_proved_beside_the_transfer),
	    cmocka_unit_test(a_claim_that_fails_is_taken_back),
	    cmocka_unit_test(proofs_stand_in_nobodys_way),
	};
	json_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
