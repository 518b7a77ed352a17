/* What the sender's threads have to do next; each function may be called from any thread. */
#pragma once

#include "files/message.h"
#include "files/walk.h"

#include <stdbool.h>

enum work_kind { WORK_LIST, WORK_LIST_END, WORK_BLOCK };

struct work_item {
	enum work_kind kind;
	uint32_t entry; /* the list: the first one */
	uint32_t count; /* entries of the list */
	uint32_t block;
};

struct work_counts {
	uint64_t blocks_sent;
	uint64_t blocks_zero; /* of them holes without a payload */
	uint64_t blocks_again;
	uint64_t blocks_skipped; /* not sent, since the receiver has them */
	uint64_t bytes_sent;     /* of files, without holes */
	uint64_t bytes_skipped;
	uint64_t files_abandoned;
	uint64_t files_direct; /* read with O_DIRECT */
	uint32_t known;        /* entries that the receiver has looked at */
};

struct work;

/* NULL with the failure set; the set stays the caller's. */
struct work *work_create(const struct file_set *set, struct failure *failure);
void work_destroy(struct work *work);

/* Waits for something to do; false when all is over. The list goes over the first stream. */
bool work_next(struct work *work, unsigned stream, struct work_item *item);
/* No thread gets anything more. */
void work_end(struct work *work);

void work_sent(struct work *work, uint32_t bytes, bool zero);
void work_read_direct(struct work *work);
/* True for the first to give it up, who tells the receiver. */
bool work_abandon(struct work *work, uint32_t entry, const char *reason);

/* What the receiver said. -1 with the failure set when it fits no entry. */
int work_have(struct work *work, const struct have *have, struct failure *failure);
int work_state(struct work *work, const struct state_view *view, struct failure *failure);
int work_again(struct work *work, const struct again *again, struct failure *failure);

void work_count(struct work *work, struct work_counts *counts);
/* The reason why an entry was given up, or NULL; only after the threads have ended. */
const char *work_reason(const struct work *work, uint32_t entry);
