/*
 * The receiver's files: what is on disk already, what is under way, what is finished. Blocks come
 * from any thread; finishing (flush, mode, times, rename) has threads of its own, so that a slow
 * disk cache does not stop a stream.
 */
#pragma once

#include "base/failure.h"
#include "base/json.h"
#include "files/direct.h"
#include "files/journal.h"
#include "files/list.h"
#include "files/record.h"

#include <stdbool.h>
#include <stdint.h>

struct store_plan {
	int root; /* stays the caller's */
	bool sync;
	enum direct_policy direct;
	enum links_policy links;
	uint8_t trust[JOURNAL_TRUST_BYTES]; /* in what comes (journal.h) */
	uint64_t max_bytes;                 /* of the listed files together; 0: any */
	uint64_t max_files;                 /* entries of the list; 0: any */
	char *const *wanted; /* what was asked for (wanted.h); NULL: whatever comes */
	unsigned wanted_count;
	/* Called from any thread when store_take has something or store_settled changed. */
	void (*notify)(void *context);
	void *context;
};

struct store_counts {
	uint64_t entries; /* of the list so far */
	uint64_t settled; /* of them done, kept or failed */
	uint64_t files_done;
	uint64_t files_kept; /* there already, with size and mtime */
	uint64_t files_anew; /* unfinished ones, whose journals were of other protection or key */
	uint64_t directories;
	uint64_t links;
	uint64_t failed;
	uint64_t files_direct; /* written with O_DIRECT */
	uint64_t blocks_verified;
	uint64_t blocks_resumed;  /* found on disk, read back and verified */
	uint64_t blocks_unproved; /* claimed by a journal, but not what the disk has */
	uint64_t blocks_unread;   /* claimed by a journal, and not read back yet */
	uint64_t blocks_faulty;   /* came with a wrong checksum */
	uint64_t bytes_verified;  /* of files, holes included */
	uint64_t bytes_zero;      /* of them holes that did not travel */
	uint64_t bytes_resumed;
	uint64_t finishing; /* files that are whole and on their way to the disk */
	uint64_t proving;   /* files with claims to read, and threads that read some; 0: none */
};

struct store;

/* NULL with the failure set. */
struct store *store_create(const struct store_plan *plan, struct failure *failure);
/* Waits for the threads; what is unfinished stays to be resumed. */
void store_destroy(struct store *store);

/*
 * One record with its payload, which need not be kept and is aligned for O_DIRECT, with room for
 * FILE_BLOCK_BYTES. -1 with the failure set when the transfer cannot go on (disk full, list out of
 * order); what concerns one file only is noted with that file.
 */
int store_record(struct store *store, const struct record *record, void *payload,
		 struct failure *failure);

/* The next message for the sender, or NULL; the caller sends it. */
cJSON *store_take(struct store *store);
/* All of the list came, and every entry but links is done, kept or failed. */
bool store_settled(struct store *store);
/*
 * Waits until what is complete is finished. If all is settled then, and `all` is wanted: links,
 * modes and times of directories, and their flush. Returns whether all was settled; the failure is
 * set when the names at the top cannot be flushed.
 */
bool store_close(struct store *store, bool all, struct failure *failure);
/* After store_close: all that was done here is on the disk, files and names. */
bool store_synced(const struct store *store);

void store_count(struct store *store, struct store_counts *counts);
/* Time of the last verified block and of the last finished file, CLOCK_MONOTONIC; 0 for none. */
void store_times(struct store *store, uint64_t *written_ns, uint64_t *durable_ns);
/* {"path", "outcome", "bytes", "error"}: first what failed; *left_out those above the limit. */
cJSON *store_outcomes(struct store *store, unsigned limit, uint64_t *left_out);
/* Faulty blocks, where they were; the first 100. */
cJSON *store_faults(struct store *store);
