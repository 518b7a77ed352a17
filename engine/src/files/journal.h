/*
 * The resume journal of one unfinished file: which blocks were verified and written, each with its
 * checksum. It claims and does not prove: whoever resumes reads each block back and compares
 * (prove.c), so that a power failure which lost data but not the claim costs that block only. That
 * is why nothing is flushed during a transfer.
 */
#pragma once

#include "files/checksum.h"
#include "files/list.h"

#include <stdatomic.h>

#define JOURNAL_HEADER_BYTES 64
#define JOURNAL_TRUST_BYTES  12
#define JOURNAL_ENTRY_BYTES  24

struct journal_claim {
	uint32_t block;
	struct checksum checksum;
};

/*
 * The header names the version of the source: its size, mtime and ctime, and the block's size; and
 * the trust in the blocks, which is of the protection and the key that they came under: what came
 * without any may be forged, and nobody else shall vouch for it.
 */
void journal_header_encode(const struct file_entry *source,
			   const uint8_t trust[JOURNAL_TRUST_BYTES],
			   uint8_t bytes[JOURNAL_HEADER_BYTES]);
/* Entries are guarded by a sum seeded with the header's, so that none passes for another file's. */
void journal_claim_encode(const struct journal_claim *claim,
			  const uint8_t header[JOURNAL_HEADER_BYTES],
			  uint8_t bytes[JOURNAL_ENTRY_BYTES]);
/* False for a torn or damaged entry, or one beyond the file's end. */
bool journal_claim_decode(const uint8_t bytes[JOURNAL_ENTRY_BYTES],
			  const uint8_t header[JOURNAL_HEADER_BYTES], uint64_t file_size,
			  struct journal_claim *claim);

struct journal {
	int fd;
	uint64_t file_size;
	bool distrusted; /* there was one of this source, under other protection or another key */
	uint64_t old_count; /* claims, whole or damaged, of earlier transfers */
	uint64_t read_count;
	uint8_t *ahead; /* read and not given yet, only between journal_next and its end */
	uint64_t ahead_first;
	size_t ahead_count;
	_Atomic uint64_t count;
	uint8_t header[JOURNAL_HEADER_BYTES];
};

/*
 * Takes over an open file, also when it fails. A journal of the same source and trust is kept to be
 * read; anything else in it is thrown away. 0, or a positive errno.
 */
int journal_start(struct journal *journal, int fd, const struct file_entry *source,
		  const uint8_t trust[JOURNAL_TRUST_BYTES]);
/*
 * 1 and the next valid claim of earlier transfers, which is number read_count - 1; 0 after the
 * last, -1 with errno. Of two claims on a block the later one counts.
 */
int journal_next(struct journal *journal, struct journal_claim *claim);
/* The claim of that number once more, from any thread; false when it cannot be read. */
bool journal_claim_at(const struct journal *journal, uint64_t number, struct journal_claim *claim);
/* From any thread. 0, or a positive errno. */
int journal_append(struct journal *journal, const struct journal_claim *claim);
void journal_close(struct journal *journal);
