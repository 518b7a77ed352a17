/* The end of an entry, and what the sender is told: what list, blocks and finishing share. */
#include "files/store_inside.h"

#include "base/clock.h"
#include "files/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t *store_stripe(struct store *store, uint32_t entry)
{
	return &store->stripes[entry % STRIPES];
}

void store_post(struct store *store, cJSON *message)
{
	struct outbox_item *item = malloc(sizeof(*item));
	if (item == NULL) {
		/* As cJSON does: there is no way on without a few bytes. */
		(void)fputs("landspeed-engine: out of memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	*item = (struct outbox_item){.message = message};
	(void)pthread_mutex_lock(&store->mutex);
	*store->outbox_end = item;
	store->outbox_end = &item->next;
	(void)pthread_mutex_unlock(&store->mutex);
	store->plan.notify(store->plan.context);
}

void store_settle(struct store *store, struct incoming *incoming, enum incoming_state state)
{
	bool file_done = state == INCOMING_DONE && incoming->entry.kind == FILE_REGULAR;
	incoming->state = state;
	incoming_close(incoming);
	(void)pthread_mutex_lock(&store->mutex);
	store->counts.settled++;
	store->counts.files_done += file_done ? 1 : 0;
	store->counts.files_kept += state == INCOMING_KEPT ? 1 : 0;
	store->counts.failed += state == INCOMING_FAILED ? 1 : 0;
	store->counts.files_direct += file_done && incoming->direct ? 1 : 0;
	if (file_done)
		store->durable_ns = clock_monotonic_ns();
	(void)pthread_mutex_unlock(&store->mutex);
	store->plan.notify(store->plan.context);
}

bool store_is_fatal(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EROFS || error == ENOMEM;
}

int store_end(const struct incoming *incoming, int error, struct failure *failure)
{
	char path[RECORD_TEXT_BYTES];
	file_path_text(incoming->entry.path, path, sizeof(path));
	return failure_set_errno(failure, error,
				 "receiver: cannot write '%s' (run again to resume)", path);
}

static void failure_tell(struct store *store, const struct incoming *incoming)
{
	cJSON *message = state_create();
	state_add(message, STATE_FAILED, incoming->number);
	state_finish(message, incoming->number + 1);
	store_post(store, message);
}

void store_fail(struct store *store, struct incoming *incoming, const char *what, int error,
		bool tell)
{
	struct failure text = {0};
	if (incoming->state == INCOMING_FAILED || incoming->failing)
		return;
	if (error != 0)
		(void)failure_set_errno(&text, error, "%s", what);
	else
		(void)failure_set(&text, "%s", what);
	incoming->error = strdup(text.text);
	incoming->failing = true;
	if (incoming->users == 0)
		store_settle(store, incoming, INCOMING_FAILED);
	if (tell)
		failure_tell(store, incoming);
}

void store_finish_later(struct store *store, struct incoming *incoming)
{
	incoming->state = INCOMING_COMPLETE;
	incoming->next = NULL;
	(void)pthread_mutex_lock(&store->mutex);
	*store->queue_end = incoming;
	store->queue_end = &incoming->next;
	if (++store->counts.finishing >= store->finishing_limit)
		store->finishing_full = true;
	(void)pthread_cond_signal(&store->changed);
	(void)pthread_mutex_unlock(&store->mutex);
}

void store_leave(struct store *store, struct incoming *incoming)
{
	if (--incoming->users > 0 || incoming->state != INCOMING_OPEN)
		return;
	if (incoming->failing)
		store_settle(store, incoming, INCOMING_FAILED);
	else if (incoming->missing == 0)
		store_finish_later(store, incoming);
}
