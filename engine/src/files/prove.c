/*
 * Claims of journals are read back in the background, by as many threads as there are processors,
 * while the sender sends what nobody claims. It is told of the claims at once and holds those
 * blocks back; what the disk does not prove is taken back, and comes like any other block.
 */
#include "files/message.h"
#include "files/store_inside.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

/* What a thread takes at once; whole bytes of the bitmap. */
#define SPAN_BLOCKS UINT32_C(16)
/* Above the threads of the streams: the line comes first. */
#define PROVER_NICE 10

struct span {
	struct incoming *incoming;
	uint32_t first;
	uint32_t count;
	bool last;     /* of its file */
	uint32_t read; /* a bit per block: it was claimed, and read back */
	uint32_t proved;
};

/* Waits for one; false when there shall be no more. */
static bool span_take(struct store *store, struct span *span)
{
	(void)pthread_mutex_lock(&store->mutex);
	while (store->claims == NULL && !atomic_load(&store->proving_ends))
		(void)pthread_cond_wait(&store->claimed, &store->mutex);
	struct incoming *incoming = store->claims;
	bool found = incoming != NULL && !atomic_load(&store->proving_ends);
	if (found) {
		uint32_t left = incoming->blocks - incoming->prove_at;
		*span = (struct span){.incoming = incoming,
				      .first = incoming->prove_at,
				      .count = left < SPAN_BLOCKS ? left : SPAN_BLOCKS,
				      .last = left <= SPAN_BLOCKS};
		incoming->prove_at += span->count;
		store->counts.proving++;
		if (span->last) {
			store->counts.proving--;
			store->claims = incoming->next_proved;
			if (store->claims == NULL)
				store->claims_end = &store->claims;
		}
	}
	(void)pthread_mutex_unlock(&store->mutex);
	return found;
}

/* As long as it is a user of the file, nobody closes that. */
static void span_read(struct store *store, struct span *span, void *buffer)
{
	for (uint32_t i = 0; i < span->count && !atomic_load(&store->proving_ends); i++) {
		if (span->incoming->claims[span->first + i] == 0)
			continue;
		span->read |= UINT32_C(1) << i;
		if (incoming_prove(span->incoming, span->first + i, buffer))
			span->proved |= UINT32_C(1) << i;
	}
}

/* Under the stripe's lock. */
static void span_account(struct store *store, const struct span *span)
{
	uint64_t blocks = 0;
	uint64_t bytes = 0;
	uint64_t unproved = 0;
	struct incoming *incoming = span->incoming;
	for (uint32_t i = 0; i < span->count; i++) {
		uint32_t block = span->first + i;
		/* It may have come meanwhile, from a sender that did not hold it back. */
		if ((span->read >> i & 1) == 0 || incoming_has(incoming, block))
			continue;
		if ((span->proved >> i & 1) == 0) {
			unproved++;
			continue;
		}
		incoming_mark(incoming, block);
		blocks++;
		bytes += file_block_bytes(incoming->entry.size, block);
	}
	(void)pthread_mutex_lock(&store->mutex);
	store->counts.blocks_resumed += blocks;
	store->counts.bytes_resumed += bytes;
	store->counts.blocks_unproved += unproved;
	store->counts.blocks_unread -= (unsigned)__builtin_popcount(span->read);
	(void)pthread_mutex_unlock(&store->mutex);
	const struct have have = {.entry = incoming->number,
				  .first_block = span->first,
				  .blocks = span->count,
				  .bitmap = incoming->verified + span->first / 8};
	if (unproved > 0)
		store_post(store, have_encode(&have));
}

static void span_prove(struct store *store, struct span *span, void *buffer)
{
	struct incoming *incoming = span->incoming;
	pthread_mutex_t *stripe = store_stripe(store, incoming->number);
	(void)pthread_mutex_lock(stripe);
	bool wanted = incoming->state == INCOMING_OPEN && !incoming->failing;
	incoming->users += wanted ? 1 : 0;
	(void)pthread_mutex_unlock(stripe);
	if (wanted)
		span_read(store, span, buffer);
	(void)pthread_mutex_lock(stripe);
	if (wanted) {
		span_account(store, span);
		store_leave(store, incoming);
	}
	/* The queue was a user too. */
	if (span->last)
		store_leave(store, incoming);
	(void)pthread_mutex_unlock(stripe);
	(void)pthread_mutex_lock(&store->mutex);
	store->counts.proving--;
	(void)pthread_mutex_unlock(&store->mutex);
}

static void *prover(void *argument)
{
	struct span span;
	struct store *store = argument;
	void *buffer = aligned_alloc(DIRECT_ALIGNMENT, FILE_BLOCK_BYTES);
	/* Of this thread alone (setpriority(2), C library/kernel differences). */
	(void)setpriority(PRIO_PROCESS, 0, PROVER_NICE);
	while (span_take(store, &span))
		span_prove(store, &span, buffer);
	free(buffer);
	return NULL;
}

static unsigned provers_wanted(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
	if (count < PROVERS_MIN)
		return PROVERS_MIN; /* a disk answers several at once */
	return count < PROVERS_MAX ? (unsigned)count : PROVERS_MAX;
}

/* When the first file has claims; by the thread that takes the list. */
static int provers_start(struct store *store)
{
	int error = 0;
	unsigned wanted = store->prover_count == 0 ? provers_wanted() : 0;
	while (store->prover_count < wanted && error == 0) {
		error = pthread_create(&store->provers[store->prover_count], NULL, prover, store);
		store->prover_count += error == 0 ? 1 : 0;
	}
	return store->prover_count > 0 ? 0 : error;
}

int store_prove_later(struct store *store, struct incoming *incoming)
{
	int error = provers_start(store);
	if (error != 0)
		return error;
	incoming->users++;
	incoming->next_proved = NULL;
	(void)pthread_mutex_lock(&store->mutex);
	*store->claims_end = incoming;
	store->claims_end = &incoming->next_proved;
	store->counts.proving++;
	(void)pthread_cond_broadcast(&store->claimed);
	(void)pthread_mutex_unlock(&store->mutex);
	return 0;
}

void provers_stop(struct store *store)
{
	(void)pthread_mutex_lock(&store->mutex);
	atomic_store(&store->proving_ends, true);
	(void)pthread_cond_broadcast(&store->claimed);
	(void)pthread_mutex_unlock(&store->mutex);
	for (unsigned i = 0; i < store->prover_count; i++)
		(void)pthread_join(store->provers[i], NULL);
	store->prover_count = 0;
}
