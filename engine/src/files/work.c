#include "files/work.h"

#include "files/incoming.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum entry_state { ENTRY_WANTED, ENTRY_KEPT, ENTRY_FAILED, ENTRY_ABANDONED };

struct work_entry {
	enum entry_state state;
	uint8_t *have; /* a bit per block; NULL: none */
	char *reason;
};

struct work {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const struct file_set *set;
	struct work_entry *entries;
	bool ended;
	uint32_t listed;
	bool list_ended;
	uint32_t entry; /* the next block is looked for from here on */
	uint32_t block;
	struct again *again; /* a stack: came damaged, or claimed and not proved */
	size_t again_count;
	size_t again_room;
	struct work_counts counts;
};

struct work *work_create(const struct file_set *set, struct failure *failure)
{
	struct work *work = calloc(1, sizeof(*work));
	struct work_entry *entries = calloc((size_t)set->count + 1, sizeof(*entries));
	if (work == NULL || entries == NULL) {
		free(work);
		free(entries);
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	(void)pthread_mutex_init(&work->mutex, NULL);
	(void)pthread_cond_init(&work->changed, NULL);
	work->set = set;
	work->entries = entries;
	return work;
}

void work_destroy(struct work *work)
{
	if (work == NULL)
		return;
	for (uint32_t i = 0; i < work->set->count; i++) {
		free(work->entries[i].have);
		free(work->entries[i].reason);
	}
	(void)pthread_mutex_destroy(&work->mutex);
	(void)pthread_cond_destroy(&work->changed);
	free(work->entries);
	free(work->again);
	free(work);
}

static bool list_take(struct work *work, struct work_item *item)
{
	size_t bytes = 0;
	uint32_t next = work->listed;
	if (work->list_ended)
		return false;
	while (next < work->set->count) {
		size_t more = file_entry_bytes(&work->set->files[next].entry);
		if (bytes + more > LIST_PAYLOAD_BYTES)
			break;
		bytes += more;
		next++;
	}
	work->list_ended = next == work->listed;
	*item = (struct work_item){.kind = work->list_ended ? WORK_LIST_END : WORK_LIST,
				   .entry = work->listed,
				   .count = next - work->listed};
	work->listed = next;
	return true;
}

/* Those of files that ended meanwhile are dropped. */
static bool again_take(struct work *work, struct work_item *item)
{
	while (work->again_count > 0) {
		const struct again *again = &work->again[--work->again_count];
		if (work->entries[again->entry].state != ENTRY_WANTED)
			continue;
		*item = (struct work_item){
		    .kind = WORK_BLOCK, .entry = again->entry, .block = again->block};
		return true;
	}
	return false;
}

static bool has_block(const struct work_entry *entry, uint32_t block)
{
	return entry->have != NULL && (entry->have[block / 8] >> block % 8 & 1) != 0;
}

static void skip_count(struct work *work, const struct file_entry *file, uint32_t block)
{
	work->counts.blocks_skipped++;
	work->counts.bytes_skipped += file_block_bytes(file->size, block);
}

/* In the order of the list, as far as the receiver has looked. */
static bool block_take(struct work *work, struct work_item *item)
{
	for (; work->entry < work->counts.known; work->entry++, work->block = 0) {
		const struct file_entry *file = &work->set->files[work->entry].entry;
		struct work_entry *entry = &work->entries[work->entry];
		uint32_t blocks = file->kind == FILE_REGULAR ? file_blocks(file->size) : 0;
		for (; work->block < blocks && entry->state == ENTRY_WANTED; work->block++) {
			if (has_block(entry, work->block)) {
				skip_count(work, file, work->block);
				continue;
			}
			*item = (struct work_item){
			    .kind = WORK_BLOCK, .entry = work->entry, .block = work->block++};
			return true;
		}
		for (; work->block < blocks && entry->state == ENTRY_KEPT; work->block++)
			skip_count(work, file, work->block);
	}
	return false;
}

bool work_next(struct work *work, unsigned stream, struct work_item *item)
{
	(void)pthread_mutex_lock(&work->mutex);
	while (!work->ended && !again_take(work, item) && !(stream == 0 && list_take(work, item)) &&
	       !block_take(work, item))
		(void)pthread_cond_wait(&work->changed, &work->mutex);
	bool found = !work->ended;
	(void)pthread_mutex_unlock(&work->mutex);
	return found;
}

void work_end(struct work *work)
{
	(void)pthread_mutex_lock(&work->mutex);
	work->ended = true;
	(void)pthread_cond_broadcast(&work->changed);
	(void)pthread_mutex_unlock(&work->mutex);
}

void work_sent(struct work *work, uint32_t bytes, bool zero)
{
	(void)pthread_mutex_lock(&work->mutex);
	work->counts.blocks_sent++;
	work->counts.blocks_zero += zero ? 1 : 0;
	work->counts.bytes_sent += zero ? 0 : bytes;
	(void)pthread_mutex_unlock(&work->mutex);
}

void work_read_direct(struct work *work)
{
	(void)pthread_mutex_lock(&work->mutex);
	work->counts.files_direct++;
	(void)pthread_mutex_unlock(&work->mutex);
}

bool work_abandon(struct work *work, uint32_t entry, const char *reason)
{
	(void)pthread_mutex_lock(&work->mutex);
	bool first = work->entries[entry].state == ENTRY_WANTED;
	if (first) {
		work->entries[entry].state = ENTRY_ABANDONED;
		work->entries[entry].reason = strdup(reason);
		work->counts.files_abandoned++;
	}
	(void)pthread_mutex_unlock(&work->mutex);
	return first;
}

/* The entry's file has that many blocks; 0 when it is none. */
static uint32_t blocks_of(const struct work *work, uint32_t entry)
{
	if (entry >= work->set->count || work->set->files[entry].entry.kind != FILE_REGULAR)
		return 0;
	return file_blocks(work->set->files[entry].entry.size);
}

static int again_push(struct work *work, const struct again *again, struct failure *failure)
{
	if (work->again_count == work->again_room) {
		size_t room = work->again_room != 0 ? 2 * work->again_room : 16;
		struct again *grown = realloc(work->again, room * sizeof(*grown));
		if (grown == NULL)
			return failure_set(failure, "out of memory");
		work->again = grown;
		work->again_room = room;
	}
	work->again[work->again_count++] = *again;
	return 0;
}

/* The cursor has been there: what was not to be sent was counted as skipped. */
static bool is_passed(const struct work *work, const struct again *at)
{
	return at->entry < work->entry || (at->entry == work->entry && at->block < work->block);
}

/* Of what was passed, blocks can only be taken back: they were sent, or skipped once. */
static int have_follow(struct work *work, struct work_entry *entry, const struct have *have,
		       struct failure *failure)
{
	const struct file_entry *file = &work->set->files[have->entry].entry;
	for (uint32_t i = 0; i < have->blocks; i++) {
		const struct again at = {.entry = have->entry, .block = have->first_block + i};
		uint8_t bit = (uint8_t)(1U << at.block % 8);
		bool before = has_block(entry, at.block);
		bool now = (have->bitmap[i / 8] >> i % 8 & 1) != 0;
		bool passed = is_passed(work, &at);
		if (now && !passed)
			entry->have[at.block / 8] |= bit;
		if (now || !before)
			continue;
		entry->have[at.block / 8] &= (uint8_t)~bit;
		if (!passed || entry->state != ENTRY_WANTED)
			continue;
		work->counts.blocks_skipped--;
		work->counts.bytes_skipped -= file_block_bytes(file->size, at.block);
		if (again_push(work, &at, failure) != 0)
			return -1;
	}
	return 0;
}

int work_have(struct work *work, const struct have *have, struct failure *failure)
{
	uint32_t blocks = blocks_of(work, have->entry);
	if (have->first_block % 8 != 0 || have->first_block > blocks ||
	    have->blocks > blocks - have->first_block)
		return failure_set(failure,
				   "the receiver claims to have blocks that its files do not have");
	(void)pthread_mutex_lock(&work->mutex);
	struct work_entry *entry = &work->entries[have->entry];
	if (entry->have == NULL)
		entry->have = calloc((size_t)blocks / 8 + 1, 1);
	/* Without memory everything is sent again. */
	int status = entry->have != NULL ? have_follow(work, entry, have, failure) : 0;
	(void)pthread_cond_broadcast(&work->changed);
	(void)pthread_mutex_unlock(&work->mutex);
	return status;
}

static void states_set(struct work *work, const cJSON *list, enum entry_state state)
{
	const cJSON *number;
	cJSON_ArrayForEach(number, list)
	{
		struct work_entry *entry = &work->entries[(uint32_t)number->valuedouble];
		if (entry->state == ENTRY_WANTED)
			entry->state = state;
	}
}

int work_state(struct work *work, const struct state_view *view, struct failure *failure)
{
	(void)pthread_mutex_lock(&work->mutex);
	bool fits = view->known <= work->listed;
	if (fits) {
		states_set(work, view->kept, ENTRY_KEPT);
		states_set(work, view->failed, ENTRY_FAILED);
		if (view->known > work->counts.known)
			work->counts.known = view->known;
		(void)pthread_cond_broadcast(&work->changed);
	}
	(void)pthread_mutex_unlock(&work->mutex);
	return fits ? 0 : failure_set(failure, "the receiver knows more files than it was told");
}

int work_again(struct work *work, const struct again *again, struct failure *failure)
{
	if (again->block >= blocks_of(work, again->entry))
		return failure_set(failure, "the receiver asks again for a block that no file has");
	(void)pthread_mutex_lock(&work->mutex);
	int status = again_push(work, again, failure);
	if (status == 0) {
		work->counts.blocks_again++;
		(void)pthread_cond_broadcast(&work->changed);
	}
	(void)pthread_mutex_unlock(&work->mutex);
	return status;
}

void work_count(struct work *work, struct work_counts *counts)
{
	(void)pthread_mutex_lock(&work->mutex);
	*counts = work->counts;
	(void)pthread_mutex_unlock(&work->mutex);
}

const char *work_reason(const struct work *work, uint32_t entry)
{
	return work->entries[entry].reason;
}
