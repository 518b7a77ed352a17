/* The control messages of a file transfer, from the receiver to the sender. */
#pragma once

#include "base/failure.h"
#include "base/json.h"

#include <stddef.h>
#include <stdint.h>

/* Blocks that one message of type files-have speaks of, at most: 128 KiB of hex digits. */
#define HAVE_BLOCKS (UINT32_C(1) << 19)

/*
 * Blocks of an entry that need not be sent: on the receiver's disk, verified or claimed by a
 * journal. A later message on the same blocks takes back what the disk did not prove.
 */
struct have {
	uint32_t entry;
	uint32_t first_block;
	uint32_t blocks;
	uint8_t *bitmap; /* HAVE_BLOCKS / 8 bytes of the caller's when decoding */
};

/* Says, unless there were none, why so many unfinished files were not resumed. */
void anew_tell(uint64_t files);
/* That files were kept of which a protected transfer proves nothing, for people; nothing of 0. */
void kept_tell(uint64_t files);

cJSON *have_encode(const struct have *have);
int have_decode(const cJSON *message, struct have *have, struct failure *failure);

/* Entries below `known` were looked at; those in the lists need no blocks. */
cJSON *state_create(void);
void state_add(cJSON *message, const char *list, uint32_t entry);
/* Once, after the lists. */
void state_finish(cJSON *message, uint32_t known);
#define STATE_KEPT   "kept"
#define STATE_FAILED "failed"

struct state_view {
	uint32_t known;
	const cJSON *kept; /* arrays of entry numbers below `known` */
	const cJSON *failed;
};

int state_decode(const cJSON *message, uint32_t limit, struct state_view *view,
		 struct failure *failure);

/* A block that came damaged. */
struct again {
	uint32_t entry;
	uint32_t block;
};

cJSON *again_encode(const struct again *again);
int again_decode(const cJSON *message, struct again *again, struct failure *failure);

/* So that the sender can show what is really there. */
struct progress {
	uint64_t bytes;   /* verified in this transfer */
	uint64_t resumed; /* verified on disk, or whole files kept */
	uint64_t settled; /* entries */
	bool busy;        /* the receiver's disk is at work: that no data move is its doing */
};

cJSON *progress_encode(const struct progress *progress);
int progress_decode(const cJSON *message, struct progress *progress, struct failure *failure);
