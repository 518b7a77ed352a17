/* A resume journal that anything may have written: only undamaged claims of this source are read.
 */
#include "files/journal.h"
#include "files/record.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BLOCKS 20

static const uint8_t trust[JOURNAL_TRUST_BYTES];
static const struct file_entry source = {.size = (uint64_t)BLOCKS * FILE_BLOCK_BYTES - 9,
					 .mtime = {.tv_sec = 1000000000},
					 .ctime = {.tv_sec = 1000000000}};

static void claims_read(struct journal *journal)
{
	uint8_t again[JOURNAL_ENTRY_BYTES];
	uint8_t bytes[JOURNAL_ENTRY_BYTES];
	struct journal_claim claim;
	while (journal_next(journal, &claim) == 1) {
		off_t at =
		    (off_t)(JOURNAL_HEADER_BYTES + (journal->read_count - 1) * JOURNAL_ENTRY_BYTES);
		if (claim.block >= BLOCKS ||
		    pread(journal->fd, bytes, sizeof(bytes), at) != (ssize_t)sizeof(bytes))
			abort();
		journal_claim_encode(&claim, journal->header, again);
		if (memcmp(again, bytes, sizeof(bytes)) != 0)
			abort();
	}
}

/* The first byte says whether the source's own header goes before the rest. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct journal journal;
	uint8_t header[JOURNAL_HEADER_BYTES];
	const struct journal_claim fresh = {.block = BLOCKS - 1};
	if (size < 1)
		return 0;
	int fd = memfd_create("journal", MFD_CLOEXEC);
	if (fd < 0)
		abort();
	journal_header_encode(&source, trust, header);
	size_t own = data[0] % 2 == 0 ? sizeof(header) : 0;
	if (pwrite(fd, header, own, 0) != (ssize_t)own ||
	    pwrite(fd, data + 1, size - 1, (off_t)own) != (ssize_t)(size - 1))
		abort();
	if (journal_start(&journal, fd, &source, trust) != 0)
		abort();
	claims_read(&journal);
	/* It can be written on. */
	uint64_t before = journal.old_count;
	if (journal_append(&journal, &fresh) != 0 || atomic_load(&journal.count) != before + 1)
		abort();
	journal_close(&journal);
	return 0;
}
