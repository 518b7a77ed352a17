/* The receiver's store under several threads: what one of them does takes nothing from another. */
#include "files/message.h"
#include "store_bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITERS 3

/* How many of its messages to the sender have a member of that name that is not empty. */
static unsigned messages_with(struct store *store, const char *member)
{
	cJSON *message;
	unsigned found = 0;
	while ((message = store_take(store)) != NULL) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(message, member);
		found += item != NULL && (!cJSON_IsArray(item) || item->child != NULL) ? 1 : 0;
		cJSON_Delete(message);
	}
	return found;
}

/*
 * One thread writes while another gives the file up: what the first one writes to stays open until
 * it has written, and no new file gets its descriptor.
 */
static void a_file_that_fails_stays_open_for_who_writes_it(void **state)
{
	struct stat status;
	struct store_counts counts;
	struct bench bench = bench_open();
	struct writer writer = {.store = bench.store, .count = 1, .whole = true};
	struct writer damager = {.store = bench.store, .first = 9, .count = FAULTS, .same = true};
	file_list(bench.store, 10);
	atomic_store(&writes_wait, true);
	writer_start(&writer);
	wait_for(&writes_waiting, 1);
	writer_start(&damager);
	writer_join(&damager);
	int other = openat(bench.root, "other", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(other >= 0);
	assert_false(store_settled(bench.store));
	atomic_store(&writes_wait, false);
	writer_join(&writer);
	assert_int_equal(fstat(other, &status), 0);
	assert_true(status.st_size == 0);
	(void)close(other);
	assert_true(store_settled(bench.store));
	assert_int_equal(messages_with(bench.store, STATE_FAILED), 1);
	store_count(bench.store, &counts);
	assert_int_equal(counts.failed, 1);
	assert_int_equal(counts.blocks_faulty, FAULTS);
	bench_close(&bench);
}

/* What is given up takes no more blocks, also while somebody still writes. */
static void a_file_that_fails_takes_no_more(void **state)
{
	struct store_counts counts;
	struct failure failure = {0};
	struct bench bench = bench_open();
	struct writer writer = {.store = bench.store, .count = 1, .whole = true};
	struct writer damager = {.store = bench.store, .first = 9, .count = FAULTS, .same = true};
	struct writer late = {.store = bench.store, .first = 1, .count = 3, .whole = true};
	file_list(bench.store, 10);
	atomic_store(&writes_wait, true);
	writer_start(&writer);
	wait_for(&writes_waiting, 1);
	writer_start(&damager);
	writer_join(&damager);
	/* It would wait in its write. */
	writer_start(&late);
	writer_join(&late);
	assert_int_equal(block_put(bench.store, 8, false, &failure), 0);
	atomic_store(&writes_wait, false);
	writer_join(&writer);
	store_count(bench.store, &counts);
	assert_int_equal(counts.blocks_faulty, FAULTS);
	assert_true(counts.blocks_verified <= 1);
	assert_int_equal(counts.failed, 1);
	bench_close(&bench);
}

/* For the sanitizers: threads that write whole blocks, one whose blocks are damaged. */
static void whole_and_damaged_blocks_at_once(void **state)
{
	enum { BLOCKS = 10 };
	struct store_counts counts;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct bench bench = bench_open();
		struct writer writers[WRITERS + 1];
		file_list(bench.store, WRITERS * BLOCKS + 1);
		for (uint32_t i = 0; i <= WRITERS; i++) {
			bool whole = i < WRITERS;
			writers[i] = (struct writer){.store = bench.store,
						     .first = i * BLOCKS,
						     .count = whole ? BLOCKS : FAULTS,
						     .whole = whole,
						     .same = !whole};
			writer_start(&writers[i]);
		}
		for (uint32_t i = 0; i <= WRITERS; i++)
			writer_join(&writers[i]);
		assert_true(store_settled(bench.store));
		store_count(bench.store, &counts);
		assert_int_equal(counts.failed, 1);
		assert_int_equal(counts.blocks_faulty, FAULTS);
		bench_close(&bench);
	}
}

/* What no other file would be spared ends the transfer; it names the file, and leaves it as it is.
 */
static void a_full_quota_is_located(void **state)
{
	static const int errors[] = {EDQUOT, ENOSPC, EROFS};
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		char said[256];
		struct store_counts counts;
		struct failure failure = {0};
		struct bench bench = bench_open();
		file_list(bench.store, 3);
		assert_int_equal(block_put(bench.store, 0, true, &failure), 0);
		atomic_store(&write_error, errors[i]);
		assert_int_equal(block_put(bench.store, 1, true, &failure), -1);
		atomic_store(&write_error, 0);
		(void)snprintf(said, sizeof(said),
			       "receiver: cannot write 'file' (run again to resume): %s",
			       strerror(errors[i]));
		assert_string_equal(failure.text, said);
		store_count(bench.store, &counts);
		assert_int_equal(counts.failed, 0);
		assert_int_equal(counts.blocks_verified, 1);
		bench_close(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_file_that_fails_stays_open_for_who_writes_it),
	    cmocka_unit_test(a_file_that_fails_takes_no_more),
	    cmocka_unit_test(whole_and_damaged_blocks_at_once),
	    cmocka_unit_test(a_full_quota_is_located),
	};
	json_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
