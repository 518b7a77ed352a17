#include "base/clock.h"
#include "files/message.h"
#include "files/store_inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block that comes damaged that often has more than bad luck. */
#define FAULTS_LIMIT 16

struct store *store_create(const struct store_plan *plan, struct failure *failure)
{
	struct store *store = calloc(1, sizeof(*store));
	if (store == NULL) {
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	store->plan = *plan;
	store->outbox_end = &store->outbox;
	store->queue_end = &store->queue;
	store->claims_end = &store->claims;
	/* With default attributes these cannot fail on Linux. */
	for (unsigned i = 0; i < STRIPES; i++)
		(void)pthread_mutex_init(&store->stripes[i], NULL);
	(void)pthread_mutex_init(&store->list, NULL);
	(void)pthread_mutex_init(&store->mutex, NULL);
	(void)pthread_cond_init(&store->changed, NULL);
	(void)pthread_cond_init(&store->claimed, NULL);
	(void)pthread_cond_init(&store->finished, NULL);
	if (finishers_start(store, failure) != 0) {
		store_destroy(store);
		return NULL;
	}
	return store;
}

void store_destroy(struct store *store)
{
	cJSON *message;
	if (store == NULL)
		return;
	provers_stop(store);
	finishers_stop(store);
	while ((message = store_take(store)) != NULL)
		cJSON_Delete(message);
	for (uint64_t i = 0; i < store->counts.entries; i++)
		incoming_destroy(store->entries[i]);
	free(store->entries);
	for (unsigned i = 0; i < STRIPES; i++)
		(void)pthread_mutex_destroy(&store->stripes[i]);
	(void)pthread_mutex_destroy(&store->list);
	(void)pthread_mutex_destroy(&store->mutex);
	(void)pthread_cond_destroy(&store->changed);
	(void)pthread_cond_destroy(&store->claimed);
	(void)pthread_cond_destroy(&store->finished);
	free(store);
}

cJSON *store_take(struct store *store)
{
	(void)pthread_mutex_lock(&store->mutex);
	struct outbox_item *item = store->outbox;
	if (item != NULL) {
		store->outbox = item->next;
		if (store->outbox == NULL)
			store->outbox_end = &store->outbox;
	}
	(void)pthread_mutex_unlock(&store->mutex);
	cJSON *message = item != NULL ? item->message : NULL;
	free(item);
	return message;
}

static struct incoming *entry_find(struct store *store, uint32_t number)
{
	(void)pthread_mutex_lock(&store->mutex);
	struct incoming *found = number < store->counts.entries ? store->entries[number] : NULL;
	(void)pthread_mutex_unlock(&store->mutex);
	return found;
}

/* Under the stripe's lock. 1: the block is to be written; 0: not; -1: the end of the transfer. */
static int block_admit(struct store *store, struct incoming *incoming, const struct record *record,
		       struct failure *failure)
{
	uint64_t block = record->offset / FILE_BLOCK_BYTES;
	if (block >= incoming->blocks ||
	    record->length != file_block_bytes(incoming->entry.size, (uint32_t)block))
		return failure_set(failure, "the sender sent a block that its file does not have");
	if (incoming->state == INCOMING_WANTED) {
		int error = incoming_open(incoming, store->plan.root, store->plan.direct);
		if (store_is_fatal(error))
			return store_end(incoming, error, failure);
		if (error != 0)
			store_fail(store, incoming, "cannot be written", error, true);
	}
	/* A file that failed: what was under way still comes. */
	if (incoming->state != INCOMING_OPEN || incoming->failing)
		return 0;
	return incoming_has(incoming, (uint32_t)block) ? 0 : 1;
}

static void fault_note(struct store *store, struct incoming *incoming, uint32_t block)
{
	const struct again again = {.entry = incoming->number, .block = block};
	(void)pthread_mutex_lock(&store->mutex);
	uint64_t index = store->counts.blocks_faulty++;
	if (index < FAULTS_LISTED)
		store->faults[index] = (struct fault){.entry = again.entry, .block = block};
	(void)pthread_mutex_unlock(&store->mutex);
	if (++incoming->faults > FAULTS_LIMIT)
		store_fail(store, incoming, "too many of its blocks came damaged", 0, true);
	else
		store_post(store, again_encode(&again));
}

static void block_count(struct store *store, const struct record *record)
{
	(void)pthread_mutex_lock(&store->mutex);
	store->counts.blocks_verified++;
	store->counts.bytes_verified += record->length;
	store->counts.bytes_zero += record->kind == RECORD_ZERO ? record->length : 0;
	store->written_ns = clock_monotonic_ns();
	(void)pthread_mutex_unlock(&store->mutex);
}

/* Under the stripe's lock, after the write. */
static int block_account(struct store *store, struct incoming *incoming,
			 const struct record *record, int error, struct failure *failure)
{
	uint32_t block = (uint32_t)(record->offset / FILE_BLOCK_BYTES);
	if (error != 0 && !store_is_fatal(error)) {
		store_fail(store, incoming, "cannot be written", error, true);
	} else if (error == 0 && !incoming_has(incoming, block)) {
		incoming_mark(incoming, block);
		block_count(store, record);
	}
	store_leave(store, incoming);
	return store_is_fatal(error) ? store_end(incoming, error, failure) : 0;
}

static int block_take(struct store *store, const struct record *record, void *payload,
		      struct failure *failure)
{
	struct incoming *incoming = entry_find(store, record->entry);
	if (incoming == NULL || incoming->entry.kind != FILE_REGULAR)
		return failure_set(failure, "the sender sent a block of no file in its list");
	pthread_mutex_t *stripe = store_stripe(store, record->entry);
	struct checksum checksum = record->kind == RECORD_ZERO
				       ? checksum_of_zeros(record->length)
				       : checksum_of(payload, record->length);
	finishers_await(store);
	bool whole = record->kind == RECORD_ZERO || checksum_equal(&checksum, &record->checksum);
	(void)pthread_mutex_lock(stripe);
	int status = block_admit(store, incoming, record, failure);
	if (status == 1 && !whole) {
		fault_note(store, incoming, (uint32_t)(record->offset / FILE_BLOCK_BYTES));
		status = 0;
	}
	if (status != 1) {
		(void)pthread_mutex_unlock(stripe);
		return status;
	}
	incoming->users++;
	(void)pthread_mutex_unlock(stripe);
	int error = incoming_write(incoming, (uint32_t)(record->offset / FILE_BLOCK_BYTES),
				   record->kind == RECORD_ZERO ? NULL : payload, &checksum);
	(void)pthread_mutex_lock(stripe);
	status = block_account(store, incoming, record, error, failure);
	(void)pthread_mutex_unlock(stripe);
	return status;
}

static int abandon_take(struct store *store, const struct record *record, const char *reason,
			struct failure *failure)
{
	char raw[RECORD_TEXT_BYTES + 1];
	char text[RECORD_TEXT_BYTES];
	struct incoming *incoming = entry_find(store, record->entry);
	if (incoming == NULL)
		return failure_set(failure, "the sender gave up what is not in its list");
	memcpy(raw, reason, record->length);
	raw[record->length] = '\0';
	file_path_text(raw, text, sizeof(text));
	pthread_mutex_t *stripe = store_stripe(store, record->entry);
	(void)pthread_mutex_lock(stripe);
	if (incoming->state == INCOMING_WANTED || incoming->state == INCOMING_OPEN)
		store_fail(store, incoming, text, 0, false);
	(void)pthread_mutex_unlock(stripe);
	return 0;
}

static int list_end(struct store *store, const struct record *record, struct failure *failure)
{
	(void)pthread_mutex_lock(&store->mutex);
	bool agrees = record->entry == store->counts.entries && !store->list_ended;
	store->list_ended = store->list_ended || agrees;
	(void)pthread_mutex_unlock(&store->mutex);
	store->plan.notify(store->plan.context);
	return agrees ? 0 : failure_set(failure, "the list of files did not come whole");
}

int store_record(struct store *store, const struct record *record, void *payload,
		 struct failure *failure)
{
	switch (record->kind) {
	case RECORD_LIST:
		return store_list(store, record, payload, failure);
	case RECORD_LIST_END:
		return list_end(store, record, failure);
	case RECORD_BLOCK:
	case RECORD_ZERO:
		return block_take(store, record, payload, failure);
	case RECORD_ABANDON:
	default:
		return abandon_take(store, record, payload, failure);
	}
}
