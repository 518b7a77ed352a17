/* The receiver's store under several threads: what one of them does takes nothing from another. */
#include "base/clock.h"
#include "check.h"
#include "files/message.h"
#include "files/root.h"
#include "files/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_NS (20 * NS_PER_S)
#define ROUNDS  10
#define WRITERS 3
/* A file of which that many blocks came damaged is given up. */
#define FAULTS 17

/* The linker's --wrap: a disk that is slow or full cannot be had to order. */
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t count, off_t offset);
ssize_t __real_pwrite64(int fd, const void *bytes, size_t count, off_t offset);

ssize_t __wrap_pread64(int fd, void *bytes, size_t count, off_t offset);
ssize_t __real_pread64(int fd, void *bytes, size_t count, off_t offset);

static _Atomic bool reads_wait;
static _Atomic unsigned reads_waiting;
static _Atomic bool writes_wait;
static _Atomic int write_error;
static _Atomic unsigned writes_waiting;

static void nap(void)
{
	struct timespec time = clock_timespec(NS_PER_MS);
	(void)nanosleep(&time, NULL);
}

/* Until there are so many; a test that waits for ever says nothing. */
static void wait_for(_Atomic unsigned *count, unsigned wanted)
{
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;
	while (atomic_load(count) < wanted) {
		assert_true(clock_monotonic_ns() < end_ns);
		nap();
	}
}

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t count, off_t offset)
{
	if (count == FILE_BLOCK_BYTES && atomic_load(&writes_wait)) {
		atomic_fetch_add(&writes_waiting, 1);
		while (atomic_load(&writes_wait))
			nap();
		atomic_fetch_sub(&writes_waiting, 1);
	}
	if (atomic_load(&write_error) != 0) {
		errno = atomic_load(&write_error);
		return -1;
	}
	return __real_pwrite64(fd, bytes, count, offset);
}

/* Reads of whole blocks are proofs of claims; a test that waits for ever says nothing. */
ssize_t __wrap_pread64(int fd, void *bytes, size_t count, off_t offset)
{
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS / 4;
	if (count == FILE_BLOCK_BYTES && atomic_load(&reads_wait)) {
		atomic_fetch_add(&reads_waiting, 1);
		while (atomic_load(&reads_wait) && clock_monotonic_ns() < end_ns)
			nap();
		atomic_fetch_sub(&reads_waiting, 1);
	}
	return __real_pread64(fd, bytes, count, offset);
}

/* A receiver's directory with a store on it. */
struct bench {
	char folder[64];
	int root;
	struct store *store;
};

static void notify(void *context)
{
	(void)context;
}

static void bench_store(struct bench *bench)
{
	struct failure failure = {0};
	const struct store_plan plan = {
	    .root = bench->root, .direct = DIRECT_OFF, .notify = notify};
	bench->store = store_create(&plan, &failure);
	assert_non_null(bench->store);
}

static struct bench bench_open(void)
{
	struct failure failure = {0};
	struct bench bench = {.folder = "/tmp/landspeed-store-XXXXXX"};
	assert_non_null(mkdtemp(bench.folder));
	bench.root = root_open("directory", bench.folder, &failure);
	assert_true(bench.root >= 0);
	bench_store(&bench);
	return bench;
}

static void bench_close(struct bench *bench)
{
	static const char *const names[] = {"file", ".file.landspeed-partial",
					    ".file.landspeed-journal", "other"};
	store_destroy(bench->store);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(bench->root, names[i], 0);
	(void)close(bench->root);
	assert_int_equal(rmdir(bench->folder), 0);
}

/* The list: one file of that many blocks. */
static void file_list(struct store *store, uint32_t blocks)
{
	uint8_t bytes[ENTRY_BYTES_MAX];
	struct failure failure = {0};
	const struct file_entry entry = {.kind = FILE_REGULAR,
					 .mode = 0644,
					 .size = (uint64_t)blocks * FILE_BLOCK_BYTES,
					 .path = (char *)"file"};
	file_entry_encode(&entry, bytes);
	uint32_t length = (uint32_t)file_entry_bytes(&entry);
	const struct record list = {
	    .kind = RECORD_LIST, .length = length, .checksum = checksum_of(bytes, length)};
	assert_int_equal(store_record(store, &list, bytes, &failure), 0);
	const struct record end = {.kind = RECORD_LIST_END, .entry = 1};
	assert_int_equal(store_record(store, &end, NULL, &failure), 0);
}

/* One block of ones, whole or damaged. */
static int block_put(struct store *store, uint32_t block, bool whole, struct failure *failure)
{
	uint8_t *bytes = aligned_alloc(DIRECT_ALIGNMENT, FILE_BLOCK_BYTES);
	assert_non_null(bytes);
	memset(bytes, 1, FILE_BLOCK_BYTES);
	struct record record = {.kind = RECORD_BLOCK,
				.length = FILE_BLOCK_BYTES,
				.offset = (uint64_t)block * FILE_BLOCK_BYTES,
				.checksum = checksum_of(bytes, FILE_BLOCK_BYTES)};
	bytes[7] ^= whole ? 0 : 1;
	int status = store_record(store, &record, bytes, failure);
	free(bytes);
	return status;
}

struct writer {
	pthread_t thread;
	struct store *store;
	uint32_t first;
	uint32_t count;
	bool whole;
	bool same; /* the first block again and again */
};

static void *writer_run(void *argument)
{
	struct writer *writer = argument;
	struct failure failure = {0};
	for (uint32_t i = 0; i < writer->count; i++) {
		uint32_t block = writer->first + (writer->same ? 0 : i);
		if (block_put(writer->store, block, writer->whole, &failure) != 0)
			return argument;
	}
	return NULL;
}

static void writer_start(struct writer *writer)
{
	assert_int_equal(pthread_create(&writer->thread, NULL, writer_run, writer), 0);
}

static void writer_join(const struct writer *writer)
{
	void *failed;
	assert_int_equal(pthread_join(writer->thread, &failed), 0);
	assert_null(failed);
}

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
	(void)state;
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
	(void)state;
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
	(void)state;
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
	(void)state;
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
	(void)state;
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
	(void)state;
	enum { BLOCKS = 83, SPOILT = 50, CLAIMED = BLOCKS - 1 };
	uint8_t bits[BLOCKS / 8 + 1] = {0};
	struct store_counts counts;
	struct failure failure = {0};
	struct bench bench = bench_resume(BLOCKS, CLAIMED, SPOILT);
	file_list(bench.store, BLOCKS);
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;
	do {
		assert_true(clock_monotonic_ns() < end_ns);
		nap();
		store_count(bench.store, &counts);
	} while (counts.blocks_unread > 0);
	assert_int_equal(bitmap_follow(bench.store, bits, BLOCKS), 2);
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
	(void)state;
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
	    cmocka_unit_test(a_file_that_fails_stays_open_for_who_writes_it),
	    cmocka_unit_test(a_file_that_fails_takes_no_more),
	    cmocka_unit_test(whole_and_damaged_blocks_at_once),
	    cmocka_unit_test(a_full_quota_is_located),
	    cmocka_unit_test(claims_are_proved_beside_the_transfer),
	    cmocka_unit_test(a_claim_that_fails_is_taken_back),
	    cmocka_unit_test(proofs_stand_in_nobodys_way),
	};
	json_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
