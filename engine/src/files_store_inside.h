/* The inside of the receiver's store: shared by files_store*.c and files_finish.c only. */
#ifndef LANDSPEED_FILES_STORE_INSIDE_H
#define LANDSPEED_FILES_STORE_INSIDE_H

#include "../include/files_store.h"
#include "files_incoming.h"

#include <pthread.h>

#define STRIPES       64
#define FINISHERS     4
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
	pthread_mutex_t mutex;            /* all below */
	pthread_cond_t changed;
	struct incoming **entries;
	size_t room;
	struct store_counts counts;
	uint64_t links_listed; /* not made before the end */
	bool list_ended;
	uint64_t written_ns;
	uint64_t durable_ns;
	struct outbox_item *outbox;
	struct outbox_item **outbox_end;
	struct fault faults[FAULTS_LISTED];
	/* finishing */
	struct incoming *queue;
	struct incoming **queue_end;
	bool closing;
	unsigned threads;
	pthread_t finishers[FINISHERS];
};

pthread_mutex_t *store_stripe(struct store *store, uint32_t entry);
/* Under the stripe's lock: the entry's end, in words and an errno or 0; `tell` also the sender. */
void store_fail(struct store *store, struct incoming *incoming, const char *what, int error,
		bool tell);
void store_settle(struct store *store, struct incoming *incoming, enum incoming_state state);
void store_post(struct store *store, cJSON *message);
/* Under the stripe's lock: it is whole; the finishers do the rest. */
void store_finish_later(struct store *store, struct incoming *incoming);

/* files_store_list.c: a payload of entries. */
int store_list(struct store *store, const struct record *record, void *payload,
	       struct failure *failure);

/* files_finish.c */
int finishers_start(struct store *store, struct failure *failure);
/* Returns when the queue is empty and the threads have ended. */
void finishers_stop(struct store *store);
/* Links, then modes, times and flushes of the directories. */
void store_finish_rest(struct store *store);

#endif
