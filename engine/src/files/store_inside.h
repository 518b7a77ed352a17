/* The inside of the receiver's store: shared by store*.c and finish.c only. */
#pragma once

#include "files/incoming.h"
#include "files/store.h"

#include <pthread.h>
#include <stdatomic.h>

#define STRIPES       64
#define FINISHERS     4
#define FINISHING_MAX 256
#define PROVERS_MIN   4
#define PROVERS_MAX   32
#define FAULTS_LISTED 100

struct outbox_item {
	cJSON *message;
	struct outbox_item *next;
};

struct fault {
	uint32_t entry;
	uint32_t block;
};

/* A stripe's lock may be held when the store's is taken, never the other way round. */
struct store {
	struct store_plan plan;
	pthread_mutex_t stripes[STRIPES]; /* entry n: state, users, bitmap, descriptors */
	pthread_mutex_t list;             /* a record of entries at a time; before a stripe's */
	uint64_t bytes_listed;            /* of files, only where they are limited */
	pthread_mutex_t mutex;            /* all below */
	pthread_cond_t changed;
	struct incoming **entries;
	size_t room;
	struct store_counts counts;
	uint64_t links_listed; /* not made before the end */
	bool list_ended;
	uint64_t written_ns;
	uint64_t durable_ns;
	bool synced;   /* to the last name; only if nothing was unsynced */
	bool unsynced; /* something could not be finished, so that its flush may be missing */
	struct outbox_item *outbox;
	struct outbox_item **outbox_end;
	struct fault faults[FAULTS_LISTED];
	/* finishing */
	uint64_t finishing_limit;    /* files that are whole and still open; then streams wait */
	_Atomic bool finishing_full; /* until half of them are finished; read without the lock */
	pthread_cond_t finished;     /* those were */
	struct incoming *queue;
	struct incoming **queue_end;
	bool closing;
	unsigned threads;
	pthread_t finishers[FINISHERS];
	/* proving */
	pthread_cond_t claimed;
	struct incoming *claims; /* files with claims that nobody has begun to prove */
	struct incoming **claims_end;
	_Atomic bool proving_ends;
	unsigned prover_count;
	pthread_t provers[PROVERS_MAX];
};

pthread_mutex_t *store_stripe(struct store *store, uint32_t entry);
/*
 * Under the stripe's lock: the entry's end, in words and an errno or 0; `tell` also the sender.
 * What somebody still writes ends with its last writer, by store_leave.
 */
void store_fail(struct store *store, struct incoming *incoming, const char *what, int error,
		bool tell);
/* No other file would fare better: the transfer ends, to be resumed when there is room. */
bool store_is_fatal(int error);
/* Says so; -1. */
int store_end(const struct incoming *incoming, int error, struct failure *failure);
/* Under the stripe's lock: one of its users has done. */
void store_leave(struct store *store, struct incoming *incoming);
void store_settle(struct store *store, struct incoming *incoming, enum incoming_state state);
void store_post(struct store *store, cJSON *message);
/* Under the stripe's lock: it is whole; the finishers do the rest. */
void store_finish_later(struct store *store, struct incoming *incoming);

/* store_list.c: a payload of entries. */
int store_list(struct store *store, const struct record *record, void *payload,
	       struct failure *failure);

/* prove.c */

/*
 * Under the stripe's lock, once the sender knows which blocks are claimed: they are read back in
 * the background. 0, or an errno when there is no thread to do it.
 */
int store_prove_later(struct store *store, struct incoming *incoming);
/* Stops reading; claims that are not proved by then stay claims. */
void provers_stop(struct store *store);

/* finish.c */
int finishers_start(struct store *store, struct failure *failure);
/*
 * Until one more file may wait for its finish. Whoever may complete one calls it first, without a
 * stripe's lock: the finishers need that.
 */
void finishers_await(struct store *store);
/* Returns when the queue is empty and the threads have ended. */
void finishers_stop(struct store *store);
/* Links, then modes, times and flushes of the directories; 0, or the errno of the last flush. */
int store_finish_rest(struct store *store);
