/* One file at the receiver; no locks in here, files_store.c has them. */
#ifndef LANDSPEED_FILES_INCOMING_H
#define LANDSPEED_FILES_INCOMING_H

#include "files_direct.h"
#include "files_journal.h"
#include "files_record.h"
#include "files_root.h"

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
	char *error;           /* why it failed */
	struct incoming *next; /* waiting for its finish */
	uint32_t number;
	uint32_t blocks;
	uint32_t missing;
	uint32_t users;  /* threads that write now */
	uint32_t faults; /* blocks that came damaged */
	bool direct;
	uint8_t *verified; /* a bit per block, NULL before it is open */
	int fd;
	struct place place;
	struct journal journal; /* only for files of several blocks */
};

/* What reading a journal found. */
struct resume {
	uint64_t blocks;
	uint64_t bytes;
	uint64_t unproved;
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
/* Opens a partial file that has a journal of this very source, and proves the claims. */
int incoming_resume(struct incoming *incoming, int root, enum direct_policy direct, void *buffer,
		    struct resume *resume);
/* Opens a new partial file, and its journal. */
int incoming_open(struct incoming *incoming, int root, enum direct_policy direct);
/* buffer NULL: zeros, which become a hole. The buffer has room for a whole block. */
int incoming_write(struct incoming *incoming, uint32_t block, void *buffer,
		   const struct checksum *checksum);
/* Flush, mode, times, rename. */
int incoming_finish(struct incoming *incoming, bool sync);

bool incoming_has(const struct incoming *incoming, uint32_t block);
void incoming_mark(struct incoming *incoming, uint32_t block);

#endif
