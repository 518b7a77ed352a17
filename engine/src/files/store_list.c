#include "files/message.h"
#include "files/store_inside.h"
#include "files/wanted.h"

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
		(*added)->trust = store->plan.trust;
		store->entries[count] = *added;
		store->counts.entries++;
		store->links_listed += entry->kind == FILE_SYMLINK ? 1 : 0;
	}
	(void)pthread_mutex_unlock(&store->mutex);
	return *added != NULL ? 0 : failure_set(failure, "no memory for so long a list of files");
}

/* Each of the preparing functions returns 0, or an errno that ends the transfer. */

static int entry_fail(struct store *store, struct incoming *incoming, const char *what, int error)
{
	if (store_is_fatal(error))
		return error;
	store_fail(store, incoming, what, error, false);
	return 0;
}

static int directory_make(struct store *store, struct incoming *incoming)
{
	struct place place;
	int error = root_place(store->plan.root, incoming->entry.path, &place);
	if (error == 0) {
		error = place_make_directory(&place);
		place_leave(&place);
	}
	if (error != 0)
		return entry_fail(store, incoming, "the directory cannot be made", error);
	(void)pthread_mutex_lock(&store->mutex);
	store->counts.directories++;
	(void)pthread_mutex_unlock(&store->mutex);
	store_settle(store, incoming, INCOMING_DONE);
	return 0;
}

/* The claims in as many messages as they take. Without memory nothing is claimed. */
static void claims_post(struct store *store, struct incoming *incoming)
{
	uint8_t *bits = calloc((size_t)incoming->blocks / 8 + 1, 1);
	for (uint32_t block = 0; bits != NULL && block < incoming->blocks; block++)
		bits[block / 8] |= (uint8_t)((incoming->claims[block] != 0 ? 1U : 0U) << block % 8);
	for (uint32_t first = 0; bits != NULL && first < incoming->blocks; first += HAVE_BLOCKS) {
		uint32_t left = incoming->blocks - first;
		struct have have = {.entry = incoming->number,
				    .first_block = first,
				    .blocks = left < HAVE_BLOCKS ? left : HAVE_BLOCKS,
				    .bitmap = bits + first / 8};
		store_post(store, have_encode(&have));
	}
	free(bits);
}

static int file_resume(struct store *store, struct incoming *incoming)
{
	uint32_t claimed;
	int error = incoming_resume(incoming, store->plan.root, store->plan.direct, &claimed);
	if (error != 0)
		return error;
	(void)pthread_mutex_lock(&store->mutex);
	store->counts.files_anew += incoming->journal.distrusted ? 1 : 0;
	store->counts.blocks_unread += claimed;
	(void)pthread_mutex_unlock(&store->mutex);
	if (claimed == 0)
		return 0;
	claims_post(store, incoming);
	return store_prove_later(store, incoming);
}

/* Is it there, or a part of it? Under its stripe's lock. */
static int file_prepare(struct store *store, struct incoming *incoming)
{
	bool kept = false;
	int error = incoming_compare(incoming, store->plan.root, &kept);
	if (error == 0 && kept) {
		(void)pthread_mutex_lock(&store->mutex);
		store->counts.blocks_resumed += incoming->blocks;
		store->counts.bytes_resumed += incoming->entry.size;
		(void)pthread_mutex_unlock(&store->mutex);
		store_settle(store, incoming, INCOMING_KEPT);
		return 0;
	}
	if (error == 0)
		error = file_resume(store, incoming);
	if (error == 0 && incoming->blocks == 0)
		error = incoming_open(incoming, store->plan.root, DIRECT_OFF);
	if (error != 0)
		return entry_fail(store, incoming, "cannot be written", error);
	if (incoming->blocks == 0)
		store_finish_later(store, incoming);
	return 0;
}

static int entry_prepare(struct store *store, struct incoming *incoming, cJSON *message,
			 struct failure *failure)
{
	int error = 0;
	pthread_mutex_t *stripe = store_stripe(store, incoming->number);
	finishers_await(store);
	(void)pthread_mutex_lock(stripe);
	if (incoming->entry.kind == FILE_DIRECTORY)
		error = directory_make(store, incoming);
	else if (incoming->entry.kind == FILE_REGULAR)
		error = file_prepare(store, incoming);
	/* Links come last: until then none of ours can be in anybody's way. */
	if (incoming->state == INCOMING_KEPT)
		state_add(message, STATE_KEPT, incoming->number);
	else if (incoming->state == INCOMING_FAILED)
		state_add(message, STATE_FAILED, incoming->number);
	(void)pthread_mutex_unlock(stripe);
	return error != 0 ? store_end(incoming, error, failure) : 0;
}

/* Directories, links and empty files have no bytes, and take an inode each. */
static int count_admit(struct store *store, const struct file_entry *entry, struct failure *failure)
{
	char path[RECORD_TEXT_BYTES];
	uint64_t limit = store->plan.max_files;
	if (limit == 0 || store->counts.entries < limit)
		return 0;
	file_path_text(entry->path, path, sizeof(path));
	return failure_set(failure,
			   "receiver: '%s' is beyond the %llu files, directories and links that a "
			   "transfer may have here (--max-files)",
			   path, (unsigned long long)limit);
}

static int bytes_admit(struct store *store, const struct file_entry *entry, struct failure *failure)
{
	char path[RECORD_TEXT_BYTES];
	uint64_t limit = store->plan.max_bytes;
	if (limit == 0 || entry->size <= limit - store->bytes_listed) {
		store->bytes_listed += limit != 0 ? entry->size : 0;
		return 0;
	}
	file_path_text(entry->path, path, sizeof(path));
	return failure_set(failure,
			   "receiver: '%s' is beyond the %llu bytes of files that a transfer may "
			   "have here (--max-bytes)",
			   path, (unsigned long long)limit);
}

static int name_admit(const struct store *store, const struct file_entry *entry,
		      struct failure *failure)
{
	char path[512];
	const struct store_plan *plan = &store->plan;
	if (plan->wanted == NULL || wanted_has(plan->wanted, plan->wanted_count, entry->path))
		return 0;
	file_path_text(entry->path, path, sizeof(path));
	return failure_set(failure, "the server sends '%s', which was not asked for", path);
}

static int entries_take(struct store *store, const uint8_t *payload, uint32_t length,
			cJSON *message, struct failure *failure)
{
	size_t used;
	struct file_entry entry;
	struct incoming *incoming = NULL;
	for (size_t at = 0; at < length; at += used) {
		if (file_entry_decode(payload + at, length - at, &used, &entry, failure) != 0)
			return -1;
		if (name_admit(store, &entry, failure) != 0 ||
		    count_admit(store, &entry, failure) != 0 ||
		    bytes_admit(store, &entry, failure) != 0 ||
		    entry_add(store, &entry, failure, &incoming) != 0 || incoming == NULL) {
			file_entry_clear(&entry);
			return -1;
		}
		if (entry_prepare(store, incoming, message, failure) != 0)
			return -1;
	}
	return 0;
}

static int list_take(struct store *store, const struct record *record, void *payload,
		     struct failure *failure)
{
	struct checksum checksum = checksum_of(payload, record->length);
	(void)pthread_mutex_lock(&store->mutex);
	bool in_order = record->entry == store->counts.entries && !store->list_ended;
	(void)pthread_mutex_unlock(&store->mutex);
	if (!in_order || !checksum_equal(&checksum, &record->checksum))
		return failure_set(failure, "the list of files came damaged");
	cJSON *message = state_create();
	int status = entries_take(store, payload, record->length, message, failure);
	(void)pthread_mutex_lock(&store->mutex);
	state_finish(message, (uint32_t)store->counts.entries);
	(void)pthread_mutex_unlock(&store->mutex);
	store_post(store, message);
	return status;
}

int store_list(struct store *store, const struct record *record, void *payload,
	       struct failure *failure)
{
	/* A sender as it should be has it all on one stream; another one shall find no gap. */
	(void)pthread_mutex_lock(&store->list);
	int status = list_take(store, record, payload, failure);
	(void)pthread_mutex_unlock(&store->list);
	return status;
}
