#include "files_journal.h"

#include "files_record.h"
#include "wire.h"

#include <errno.h>
#include <unistd.h>

static const uint8_t journal_magic[8] = {'l', 's', 'j', 'r', 'n', 'l', 0, 1};

#define HEADER_GUARDED (JOURNAL_HEADER_BYTES - 8)
#define CLAIM_GUARDED  (JOURNAL_ENTRY_BYTES - 4)

static uint8_t *time_put(uint8_t *at, const struct timespec *time)
{
	at = wire_put_u64(at, (uint64_t)time->tv_sec);
	return wire_put_u32(at, (uint32_t)time->tv_nsec);
}

void journal_header_encode(const struct file_entry *source, uint8_t bytes[JOURNAL_HEADER_BYTES])
{
	memset(bytes, 0, JOURNAL_HEADER_BYTES);
	memcpy(bytes, journal_magic, sizeof(journal_magic));
	uint8_t *at = wire_put_u32(bytes + sizeof(journal_magic), FILE_BLOCK_BYTES);
	at = wire_put_u64(at, source->size);
	at = time_put(at, &source->mtime);
	(void)time_put(at, &source->ctime);
	(void)wire_put_u64(bytes + HEADER_GUARDED, checksum_short(bytes, HEADER_GUARDED, 0));
}

static uint32_t claim_guard(const uint8_t *bytes, const uint8_t *header)
{
	uint64_t seed;
	(void)wire_get_u64(header + HEADER_GUARDED, &seed);
	return (uint32_t)checksum_short(bytes, CLAIM_GUARDED, seed);
}

void journal_claim_encode(const struct journal_claim *claim,
			  const uint8_t header[JOURNAL_HEADER_BYTES],
			  uint8_t bytes[JOURNAL_ENTRY_BYTES])
{
	uint8_t *at = wire_put_u32(bytes, claim->block);
	memcpy(at, claim->checksum.bytes, CHECKSUM_BYTES);
	(void)wire_put_u32(bytes + CLAIM_GUARDED, claim_guard(bytes, header));
}

bool journal_claim_decode(const uint8_t bytes[JOURNAL_ENTRY_BYTES],
			  const uint8_t header[JOURNAL_HEADER_BYTES], uint64_t file_size,
			  struct journal_claim *claim)
{
	uint32_t guard;
	const uint8_t *at = wire_get_u32(bytes, &claim->block);
	memcpy(claim->checksum.bytes, at, CHECKSUM_BYTES);
	(void)wire_get_u32(bytes + CLAIM_GUARDED, &guard);
	return guard == claim_guard(bytes, header) &&
	       (uint64_t)claim->block * FILE_BLOCK_BYTES < file_size;
}

static int write_at(int fd, const uint8_t *bytes, size_t count, uint64_t offset)
{
	while (count > 0) {
		ssize_t written = pwrite(fd, bytes, count, (off_t)offset);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return errno;
		bytes += written;
		count -= (size_t)written;
		offset += (uint64_t)written;
	}
	return 0;
}

int journal_start(struct journal *journal, int fd, const struct file_entry *source)
{
	uint8_t found[JOURNAL_HEADER_BYTES];
	*journal = (struct journal){.fd = fd, .file_size = source->size};
	journal_header_encode(source, journal->header);
	ssize_t got = pread(fd, found, sizeof(found), 0);
	off_t end = lseek(fd, 0, SEEK_END);
	if (got < 0 || end < 0)
		return errno;
	if (got == (ssize_t)sizeof(found) && memcmp(found, journal->header, sizeof(found)) == 0) {
		/* A torn entry at the end is written over by the next one. */
		journal->old_count = ((uint64_t)end - JOURNAL_HEADER_BYTES) / JOURNAL_ENTRY_BYTES;
		atomic_store(&journal->count, journal->old_count);
		return 0;
	}
	if (ftruncate(fd, 0) != 0)
		return errno;
	return write_at(fd, journal->header, sizeof(journal->header), 0);
}

static uint64_t claim_offset(uint64_t index)
{
	return JOURNAL_HEADER_BYTES + index * JOURNAL_ENTRY_BYTES;
}

int journal_next(struct journal *journal, struct journal_claim *claim)
{
	uint8_t bytes[JOURNAL_ENTRY_BYTES];
	while (journal->read_count < journal->old_count) {
		ssize_t got = pread(journal->fd, bytes, sizeof(bytes),
				    (off_t)claim_offset(journal->read_count));
		if (got < 0)
			return -1;
		journal->read_count++;
		if (got == (ssize_t)sizeof(bytes) &&
		    journal_claim_decode(bytes, journal->header, journal->file_size, claim))
			return 1;
	}
	return 0;
}

int journal_append(struct journal *journal, const struct journal_claim *claim)
{
	uint8_t bytes[JOURNAL_ENTRY_BYTES];
	journal_claim_encode(claim, journal->header, bytes);
	/* A place of its own for each claim: one that is torn by a full disk spoils no other. */
	uint64_t index = atomic_fetch_add(&journal->count, 1);
	return write_at(journal->fd, bytes, sizeof(bytes), claim_offset(index));
}

void journal_close(struct journal *journal)
{
	if (journal->fd >= 0)
		(void)close(journal->fd);
	journal->fd = -1;
}
