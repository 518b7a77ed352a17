#include "files/journal.h"

#include "base/pread_all.h"
#include "base/wire.h"
#include "files/record.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const uint8_t journal_magic[8] = {'l', 's', 'j', 'r', 'n', 'l', 0, 1};

#define HEADER_GUARDED (JOURNAL_HEADER_BYTES - 8)
/* Behind what the header says of the source. */
#define TRUST_OFFSET  (HEADER_GUARDED - JOURNAL_TRUST_BYTES)
#define CLAIM_GUARDED (JOURNAL_ENTRY_BYTES - 4)
#define AHEAD_CLAIMS  4096

void journal_header_encode(const struct file_entry *source,
			   const uint8_t trust[JOURNAL_TRUST_BYTES],
			   uint8_t bytes[JOURNAL_HEADER_BYTES])
{
	memset(bytes, 0, JOURNAL_HEADER_BYTES);
	memcpy(bytes, journal_magic, sizeof(journal_magic));
	uint8_t *at = wire_put_u32(bytes + sizeof(journal_magic), FILE_BLOCK_BYTES);
	at = wire_put_u64(at, source->size);
	at = wire_put_time(at, &source->mtime);
	(void)wire_put_time(at, &source->ctime);
	memcpy(bytes + TRUST_OFFSET, trust, JOURNAL_TRUST_BYTES);
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

int journal_start(struct journal *journal, int fd, const struct file_entry *source,
		  const uint8_t trust[JOURNAL_TRUST_BYTES])
{
	uint8_t found[JOURNAL_HEADER_BYTES];
	*journal = (struct journal){.fd = fd, .file_size = source->size};
	journal_header_encode(source, trust, journal->header);
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
	journal->distrusted = got == (ssize_t)sizeof(found) &&
			      memcmp(found, journal->header, TRUST_OFFSET) == 0 &&
			      memcmp(found + TRUST_OFFSET, trust, JOURNAL_TRUST_BYTES) != 0;
	if (ftruncate(fd, 0) != 0)
		return errno;
	return pwrite_all(fd, journal->header, sizeof(journal->header), 0);
}

static uint64_t claim_offset(uint64_t index)
{
	return JOURNAL_HEADER_BYTES + index * JOURNAL_ENTRY_BYTES;
}

/* As many at once as go into the buffer: a TB has a million of them. */
static int ahead_read(struct journal *journal)
{
	uint64_t left = journal->old_count - journal->read_count;
	size_t count = left < AHEAD_CLAIMS ? (size_t)left : AHEAD_CLAIMS;
	if (journal->ahead == NULL)
		journal->ahead = malloc((size_t)AHEAD_CLAIMS * JOURNAL_ENTRY_BYTES);
	if (journal->ahead == NULL)
		return -1;
	ssize_t got = pread(journal->fd, journal->ahead, count * JOURNAL_ENTRY_BYTES,
			    (off_t)claim_offset(journal->read_count));
	if (got < 0)
		return -1;
	journal->ahead_first = journal->read_count;
	journal->ahead_count = (size_t)got / JOURNAL_ENTRY_BYTES;
	/* Cut off meanwhile: there is nothing more. */
	if (journal->ahead_count == 0)
		journal->read_count = journal->old_count;
	return 0;
}

static void ahead_drop(struct journal *journal)
{
	free(journal->ahead);
	journal->ahead = NULL;
	journal->ahead_count = 0;
}

int journal_next(struct journal *journal, struct journal_claim *claim)
{
	while (journal->read_count < journal->old_count) {
		uint64_t at = journal->read_count - journal->ahead_first;
		if (journal->ahead == NULL || at >= journal->ahead_count) {
			if (ahead_read(journal) != 0)
				return -1;
			continue;
		}
		journal->read_count++;
		if (journal_claim_decode(journal->ahead + at * JOURNAL_ENTRY_BYTES, journal->header,
					 journal->file_size, claim))
			return 1;
	}
	ahead_drop(journal);
	return 0;
}

bool journal_claim_at(const struct journal *journal, uint64_t number, struct journal_claim *claim)
{
	uint8_t bytes[JOURNAL_ENTRY_BYTES];
	return pread(journal->fd, bytes, sizeof(bytes), (off_t)claim_offset(number)) ==
		   (ssize_t)sizeof(bytes) &&
	       journal_claim_decode(bytes, journal->header, journal->file_size, claim);
}

int journal_append(struct journal *journal, const struct journal_claim *claim)
{
	uint8_t bytes[JOURNAL_ENTRY_BYTES];
	journal_claim_encode(claim, journal->header, bytes);
	/* A place of its own for each claim: one that is torn by a full disk spoils no other. */
	uint64_t index = atomic_fetch_add(&journal->count, 1);
	return pwrite_all(journal->fd, bytes, sizeof(bytes), claim_offset(index));
}

void journal_close(struct journal *journal)
{
	if (journal->fd >= 0)
		(void)close(journal->fd);
	journal->fd = -1;
	ahead_drop(journal);
}
