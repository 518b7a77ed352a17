/* One file at the receiver; no locks in here, store.c has them. */
#pragma once

#include "files/direct.h"
#include "files/journal.h"
#include "files/record.h"
#include "files/root.h"

enum incoming_state {
	INCOMING_WANTED,   /* nothing open yet */
	INCOMING_OPEN,     /* blocks come */
	INCOMING_COMPLETE, /* all blocks are there, waiting for its finish */
	INCOMING_DONE,
	INCOMING_KEPT, /* it was there already */
	INCOMING_FAILED,
};

struct incoming {
	struct file_entry entry;
	enum incoming_state state;
	char *error;                  /* why it failed */
	struct incoming *next;        /* waiting for its finish */
	struct incoming *next_proved; /* waiting for its proof */
	const uint8_t *trust;         /* of its journal, JOURNAL_TRUST_BYTES; the store's */
	uint32_t number;
	uint32_t blocks;
	uint32_t missing;
	uint32_t users;  /* threads that write or prove now: what they use stays open */
	uint32_t faults; /* blocks that came damaged */
	bool failing;    /* it fails as soon as nobody writes it */
	bool direct;
	uint8_t *verified; /* a bit per block, NULL before it is open */
	uint32_t *claims;  /* per block 1 + its claim's number in the journal, 0: none; or NULL */
	uint32_t prove_at; /* the first block that nobody has begun to prove */
	int fd;
	struct place place;
	struct journal journal; /* only for files of several blocks */
};

uint32_t file_blocks(uint64_t size);
/* Bytes of that block. */
uint32_t file_block_bytes(uint64_t size, uint32_t block);

/* Takes over the entry. NULL when out of memory. */
struct incoming *incoming_create(const struct file_entry *entry, uint32_t number);
void incoming_destroy(struct incoming *incoming);
/* Closes what is open; unfinished files stay for the next time. */
void incoming_close(struct incoming *incoming);

/* Each returns 0 or a positive errno. */

/* Is a file of that size and mtime there already? Then its mode is set, if need be, and *kept. */
int incoming_compare(struct incoming *incoming, int root, bool *kept);
/* Opens a partial file that has a journal of this very source; *claimed blocks, not proved yet. */
int incoming_resume(struct incoming *incoming, int root, enum direct_policy direct,
		    uint32_t *claimed);
/* Does the disk have what the journal claims of that block? The buffer takes a whole one. */
bool incoming_prove(const struct incoming *incoming, uint32_t block, void *buffer);
/* Opens a new partial file, and its journal; both, or neither. */
int incoming_open(struct incoming *incoming, int root, enum direct_policy direct);
/* buffer NULL: zeros, which become a hole. The buffer has room for a whole block. */
int incoming_write(struct incoming *incoming, uint32_t block, void *buffer,
		   const struct checksum *checksum);
/* Flush, mode, times, rename. */
int incoming_finish(struct incoming *incoming, bool sync);

bool incoming_has(const struct incoming *incoming, uint32_t block);
void incoming_mark(struct incoming *incoming, uint32_t block);
