#include "files_message.h"
#include "files_store_inside.h"

#include <errno.h>
#include <stdlib.h>

static int entry_add(struct store *store, const struct file_entry *entry, struct failure *failure,
		     struct incoming **added)
{
	(void)pthread_mutex_lock(&store->mutex);
	size_t count = store->counts.entries;
	if (count == store->room) {
		size_t room = store->room != 0 ? 2 * store->room : 256;
		struct incoming **grown = realloc(store->entries, room * sizeof(struct incoming *));
		if (grown != NULL) {
			store->entries = grown;
			store->room = room;
		}
	}
	*added = count < store->room && count < FILES_LIMIT
		     ? incoming_create(entry, (uint32_t)count)
		     : NULL;
	if (*added != NULL) {
		store->entries[count] = *added;
		store->counts.entries++;
		store->links_listed += entry->kind == FILE_SYMLINK ? 1 : 0;
	}
	(void)pthread_mutex_unlock(&store->mutex);
	return *added != NULL ? 0 : failure_set(failure, "no memory for so long a list of files");
}

static void directory_make(struct store *store, struct incoming *incoming)
{
	struct place place;
	int error = root_place(store->plan.root, incoming->entry.path, &place);
	if (error == 0) {
		error = place_make_directory(&place);
		place_leave(&place);
	}
	if (error != 0) {
		store_fail(store, incoming, "the directory cannot be made", error, false);
		return;
	}
	(void)pthread_mutex_lock(&store->mutex);
	store->counts.directories++;
	(void)pthread_mutex_unlock(&store->mutex);
	store_settle(store, incoming, INCOMING_DONE);
}

/* The bitmap in as many messages as it takes. */
static void have_post(struct store *store, const struct incoming *incoming)
{
	for (uint32_t first = 0; first < incoming->blocks; first += HAVE_BLOCKS) {
		uint32_t left = incoming->blocks - first;
		struct have have = {.entry = incoming->number,
				    .first_block = first,
				    .blocks = left < HAVE_BLOCKS ? left : HAVE_BLOCKS,
				    .bitmap = incoming->verified + first / 8};
		store_post(store, have_encode(&have));
		if (left <= HAVE_BLOCKS)
			break;
	}
}

static int file_resume(struct store *store, struct incoming *incoming, void *buffer)
{
	struct resume resume = {0};
	int error =
	    incoming_resume(incoming, store->plan.root, store->plan.direct, buffer, &resume);
	if (error != 0)
		return error;
	(void)pthread_mutex_lock(&store->mutex);
	store->counts.blocks_resumed += resume.blocks;
	store->counts.bytes_resumed += resume.bytes;
	store->counts.blocks_unproved += resume.unproved;
	(void)pthread_mutex_unlock(&store->mutex);
	if (resume.blocks > 0)
		have_post(store, incoming);
	return 0;
}

/* Is it there, or a part of it? Under its stripe's lock. */
static void file_prepare(struct store *store, struct incoming *incoming, void *buffer)
{
	bool kept = false;
	int error = incoming_compare(incoming, store->plan.root, &kept);
	if (error == 0 && kept) {
		(void)pthread_mutex_lock(&store->mutex);
		store->counts.blocks_resumed += incoming->blocks;
		store->counts.bytes_resumed += incoming->entry.size;
		(void)pthread_mutex_unlock(&store->mutex);
		store_settle(store, incoming, INCOMING_KEPT);
		return;
	}
	if (error == 0)
		error = file_resume(store, incoming, buffer);
	if (error == 0 && incoming->blocks == 0)
		error = incoming_open(incoming, store->plan.root, DIRECT_OFF);
	if (error != 0)
		store_fail(store, incoming, "cannot be written", error, false);
	else if (incoming->missing == 0)
		store_finish_later(store, incoming);
}

static void entry_prepare(struct store *store, struct incoming *incoming, void *buffer,
			  cJSON *message)
{
	pthread_mutex_t *stripe = store_stripe(store, incoming->number);
	(void)pthread_mutex_lock(stripe);
	if (incoming->entry.kind == FILE_DIRECTORY)
		directory_make(store, incoming);
	else if (incoming->entry.kind == FILE_REGULAR)
		file_prepare(store, incoming, buffer);
	/* Links come last: until then none of ours can be in anybody's way. */
	if (incoming->state == INCOMING_KEPT)
		state_add(message, STATE_KEPT, incoming->number);
	else if (incoming->state == INCOMING_FAILED)
		state_add(message, STATE_FAILED, incoming->number);
	(void)pthread_mutex_unlock(stripe);
}

static int entries_take(struct store *store, const uint8_t *payload, uint32_t length, void *buffer,
			cJSON *message, struct failure *failure)
{
	size_t used;
	struct file_entry entry;
	struct incoming *incoming = NULL;
	for (size_t at = 0; at < length; at += used) {
		if (file_entry_decode(payload + at, length - at, &used, &entry, failure) != 0)
			return -1;
		if (entry_add(store, &entry, failure, &incoming) != 0 || incoming == NULL) {
			file_entry_clear(&entry);
			return -1;
		}
		entry_prepare(store, incoming, buffer, message);
	}
	return 0;
}

int store_list(struct store *store, const struct record *record, void *payload,
	       struct failure *failure)
{
	struct checksum checksum = checksum_of(payload, record->length);
	(void)pthread_mutex_lock(&store->mutex);
	bool in_order = record->entry == store->counts.entries && !store->list_ended;
	(void)pthread_mutex_unlock(&store->mutex);
	if (!in_order || !checksum_equal(&checksum, &record->checksum))
		return failure_set(failure, "the list of files came damaged");
	void *buffer = aligned_alloc(DIRECT_ALIGNMENT, FILE_BLOCK_BYTES);
	if (buffer == NULL)
		return failure_set(failure, "out of memory");
	cJSON *message = state_create();
	int status = entries_take(store, payload, record->length, buffer, message, failure);
	free(buffer);
	(void)pthread_mutex_lock(&store->mutex);
	state_finish(message, (uint32_t)store->counts.entries);
	(void)pthread_mutex_unlock(&store->mutex);
	store_post(store, message);
	return status;
}
