#include "base/clock.h"
#include "files/store_inside.h"

void store_count(struct store *store, struct store_counts *counts)
{
	(void)pthread_mutex_lock(&store->mutex);
	*counts = store->counts;
	(void)pthread_mutex_unlock(&store->mutex);
}

void store_times(struct store *store, uint64_t *written_ns, uint64_t *durable_ns)
{
	(void)pthread_mutex_lock(&store->mutex);
	*written_ns = store->written_ns;
	*durable_ns = store->durable_ns;
	(void)pthread_mutex_unlock(&store->mutex);
}

bool store_settled(struct store *store)
{
	(void)pthread_mutex_lock(&store->mutex);
	bool settled = store->list_ended &&
		       store->counts.settled + store->links_listed == store->counts.entries;
	(void)pthread_mutex_unlock(&store->mutex);
	return settled;
}

bool store_close(struct store *store, bool all, struct failure *failure)
{
	provers_stop(store);
	finishers_stop(store);
	bool settled = store_settled(store);
	if (!all || !settled)
		return settled;
	int error = store_finish_rest(store);
	store->synced = store->plan.sync && !store->unsynced && error == 0;
	store->durable_ns = clock_monotonic_ns();
	if (error != 0)
		(void)failure_set_errno(failure, error,
					"the names in --directory may not be on the disk");
	return settled;
}

bool store_synced(const struct store *store)
{
	return store->synced;
}

static const char *outcome_name(const struct incoming *incoming)
{
	switch (incoming->state) {
	case INCOMING_DONE:
		return "done";
	case INCOMING_KEPT:
		return "kept";
	case INCOMING_FAILED:
		return "failed";
	case INCOMING_WANTED:
	case INCOMING_OPEN:
	case INCOMING_COMPLETE:
	default:
		return "unfinished";
	}
}

static void outcome_add(cJSON *list, const struct incoming *incoming)
{
	char path[FILE_PATH_BYTES + 1];
	cJSON *object = cJSON_CreateObject();
	file_path_text(incoming->entry.path, path, sizeof(path));
	json_add_text(object, "path", path);
	json_add_text(object, "outcome", outcome_name(incoming));
	json_add_u64(object, "bytes", incoming->entry.size);
	json_add_text(object, "error", incoming->error);
	(void)cJSON_AddItemToArray(list, object);
}

cJSON *store_outcomes(struct store *store, unsigned limit, uint64_t *left_out)
{
	cJSON *list = cJSON_CreateArray();
	unsigned used = 0;
	*left_out = 0;
	/* First what failed, then what is missing, then what is well. */
	static const bool passes[3][INCOMING_FAILED + 1] = {
	    {[INCOMING_FAILED] = true},
	    {[INCOMING_WANTED] = true, [INCOMING_OPEN] = true, [INCOMING_COMPLETE] = true},
	    {[INCOMING_DONE] = true, [INCOMING_KEPT] = true},
	};
	for (unsigned pass = 0; pass < 3; pass++) {
		for (uint64_t i = 0; i < store->counts.entries; i++) {
			const struct incoming *incoming = store->entries[i];
			if (!passes[pass][incoming->state])
				continue;
			if (used++ < limit)
				outcome_add(list, incoming);
			else
				++*left_out;
		}
	}
	return list;
}

cJSON *store_faults(struct store *store)
{
	char path[FILE_PATH_BYTES + 1];
	cJSON *list = cJSON_CreateArray();
	for (uint64_t i = 0; i < store->counts.blocks_faulty && i < FAULTS_LISTED; i++) {
		const struct fault *fault = &store->faults[i];
		cJSON *object = cJSON_CreateObject();
		file_path_text(store->entries[fault->entry]->entry.path, path, sizeof(path));
		json_add_text(object, "path", path);
		json_add_u64(object, "offset", (uint64_t)fault->block * FILE_BLOCK_BYTES);
		(void)cJSON_AddItemToArray(list, object);
	}
	return list;
}
