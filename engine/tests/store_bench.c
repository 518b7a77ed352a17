#include "store_bench.h"

#include "files/message.h"
#include "files/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The linker's --wrap: a disk that is slow or full cannot be had to order. */
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t count, off_t offset);
ssize_t __real_pwrite64(int fd, const void *bytes, size_t count, off_t offset);

ssize_t __wrap_pread64(int fd, void *bytes, size_t count, off_t offset);
ssize_t __real_pread64(int fd, void *bytes, size_t count, off_t offset);

_Atomic bool reads_wait;
_Atomic unsigned reads_waiting;
_Atomic bool writes_wait;
_Atomic int write_error;
_Atomic unsigned writes_waiting;

void nap(void)
{
	struct timespec time = clock_timespec(NS_PER_MS);
	(void)nanosleep(&time, NULL);
}

void wait_for(_Atomic unsigned *count, unsigned wanted)
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

static void notify(void *context)
{
	(void)context;
}

void bench_store(struct bench *bench)
{
	struct failure failure = {0};
	const struct store_plan plan = {
	    .root = bench->root, .direct = DIRECT_OFF, .notify = notify};
	bench->store = store_create(&plan, &failure);
	assert_non_null(bench->store);
}

struct bench bench_open(void)
{
	struct failure failure = {0};
	struct bench bench = {.folder = "/tmp/landspeed-store-XXXXXX"};
	assert_non_null(mkdtemp(bench.folder));
	bench.root = root_open("directory", bench.folder, &failure);
	assert_true(bench.root >= 0);
	bench_store(&bench);
	return bench;
}

void bench_close(struct bench *bench)
{
	static const char *const names[] = {"file", ".file.landspeed-partial",
					    ".file.landspeed-journal", "other"};
	store_destroy(bench->store);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)unlinkat(bench->root, names[i], 0);
	(void)close(bench->root);
	assert_int_equal(rmdir(bench->folder), 0);
}

void file_list(struct store *store, uint32_t blocks)
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

int block_put(struct store *store, uint32_t block, bool whole, struct failure *failure)
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

void writer_start(struct writer *writer)
{
	assert_int_equal(pthread_create(&writer->thread, NULL, writer_run, writer), 0);
}

void writer_join(const struct writer *writer)
{
	void *failed;
	assert_int_equal(pthread_join(writer->thread, &failed), 0);
	assert_null(failed);
}
