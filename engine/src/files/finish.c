#include "base/descriptors.h"
#include "files/store_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Under the store's lock. Who waits is woken when half of the queue is free: at each file that ends
 * all would wake for one place.
 */
static void queue_leave(struct store *store)
{
	if (--store->counts.finishing > store->finishing_limit / 2 || !store->finishing_full)
		return;
	store->finishing_full = false;
	(void)pthread_cond_broadcast(&store->finished);
}

/* The next one, after `done`, or NULL; NULL when the queue is empty for good. */
static struct incoming *queue_take(struct store *store, const struct incoming *done)
{
	(void)pthread_mutex_lock(&store->mutex);
	if (done != NULL)
		queue_leave(store);
	while (store->queue == NULL && !store->closing)
		(void)pthread_cond_wait(&store->changed, &store->mutex);
	struct incoming *incoming = store->queue;
	if (incoming != NULL) {
		store->queue = incoming->next;
		if (store->queue == NULL)
			store->queue_end = &store->queue;
	}
	(void)pthread_mutex_unlock(&store->mutex);
	return incoming;
}

static void unfinished(struct store *store, struct incoming *incoming, const char *what, int error)
{
	(void)pthread_mutex_lock(&store->mutex);
	store->unsynced = true;
	(void)pthread_mutex_unlock(&store->mutex);
	store_fail(store, incoming, what, error, false);
}

static void *finisher(void *argument)
{
	struct store *store = argument;
	struct incoming *incoming = NULL;
	while ((incoming = queue_take(store, incoming)) != NULL) {
		/* Nobody else touches a complete file. */
		int error = incoming_finish(incoming, store->plan.sync);
		pthread_mutex_t *stripe = store_stripe(store, incoming->number);
		(void)pthread_mutex_lock(stripe);
		if (error != 0)
			unfinished(store, incoming, "cannot be finished", error);
		else
			store_settle(store, incoming, INCOMING_DONE);
		(void)pthread_mutex_unlock(stripe);
	}
	return NULL;
}

static uint64_t finishing_limit(void)
{
	unsigned limit = descriptors_for_files();
	return limit < FINISHERS ? FINISHERS : limit < FINISHING_MAX ? limit : FINISHING_MAX;
}

void finishers_await(struct store *store)
{
	if (!store->finishing_full)
		return;
	(void)pthread_mutex_lock(&store->mutex);
	while (store->finishing_full)
		(void)pthread_cond_wait(&store->finished, &store->mutex);
	(void)pthread_mutex_unlock(&store->mutex);
}

int finishers_start(struct store *store, struct failure *failure)
{
	store->finishing_limit = finishing_limit();
	for (; store->threads < FINISHERS; store->threads++) {
		int error =
		    pthread_create(&store->finishers[store->threads], NULL, finisher, store);
		if (error != 0)
			return failure_set_errno(failure, error, "cannot start a thread");
	}
	return 0;
}

void finishers_stop(struct store *store)
{
	(void)pthread_mutex_lock(&store->mutex);
	store->closing = true;
	(void)pthread_cond_broadcast(&store->changed);
	(void)pthread_mutex_unlock(&store->mutex);
	for (unsigned i = 0; i < store->threads; i++)
		(void)pthread_join(store->finishers[i], NULL);
	store->threads = 0;
}

/* From here on there is one thread only. */

#define LEADS_OUT "the link leads out of the directory, or may (--symlinks all makes it)"

/* Why it is not made, with an errno or 0; else NULL. */
static const char *link_refusal(const struct store *store, const struct file_entry *entry,
				int *error)
{
	*error = 0;
	if (store->plan.links == LINKS_NONE)
		return "symbolic links are not made here (--symlinks none)";
	if (store->plan.links == LINKS_ALL)
		return NULL;
	if (!file_target_is_inside(entry->path, entry->target))
		return LEADS_OUT;
	/* By way of a link that was there before, and is not ours to judge. */
	*error = root_target_check(store->plan.root, entry->path, entry->target);
	if (*error == 0)
		return NULL;
	if (*error != EXDEV)
		return "where the link leads to cannot be seen";
	*error = 0;
	return LEADS_OUT;
}

static void link_make(struct store *store, struct incoming *incoming)
{
	struct place place;
	struct file_entry *entry = &incoming->entry;
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, entry->mtime};
	int error;
	const char *refusal = link_refusal(store, entry, &error);
	if (refusal != NULL) {
		store_fail(store, incoming, refusal, error, false);
		return;
	}
	error = root_place(store->plan.root, entry->path, &place);
	if (error == 0) {
		error = place_make_link(&place, entry->target);
		if (error == 0 &&
		    utimensat(place.directory, place.name, times, AT_SYMLINK_NOFOLLOW) != 0)
			error = errno;
		place_leave(&place);
	}
	if (error != 0) {
		store_fail(store, incoming, "the link cannot be made", error, false);
		return;
	}
	store->counts.links++;
	store_settle(store, incoming, INCOMING_DONE);
}

static int directory_finish(struct store *store, const struct file_entry *entry)
{
	int fd;
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, entry->mtime};
	int error = root_directory(store->plan.root, entry->path, &fd);
	if (error != 0)
		return error;
	if (fchmod(fd, entry->mode) != 0 || futimens(fd, times) != 0 ||
	    (store->plan.sync && fsync(fd) != 0))
		error = errno;
	(void)close(fd);
	return error;
}

int store_finish_rest(struct store *store)
{
	for (uint64_t i = 0; i < store->counts.entries; i++) {
		if (store->entries[i]->entry.kind == FILE_SYMLINK)
			link_make(store, store->entries[i]);
	}
	/* The deepest first, which the list has last: what is made in one changes its mtime. */
	for (uint64_t i = store->counts.entries; i-- > 0;) {
		struct incoming *incoming = store->entries[i];
		if (incoming->entry.kind != FILE_DIRECTORY || incoming->state != INCOMING_DONE)
			continue;
		int error = directory_finish(store, &incoming->entry);
		if (error != 0) {
			store->counts.settled--;
			store->counts.directories--;
			unfinished(store, incoming, "mode and times cannot be set", error);
		}
	}
	/* The names of what lies at the top. */
	return store->plan.sync && fsync(store->plan.root) != 0 ? errno : 0;
}
