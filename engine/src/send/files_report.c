#include "base/output.h"
#include "files/message.h"
#include "send/files.h"
#include "send/files_inside.h"

static void outcomes_add(cJSON *object, const cJSON *theirs, const struct file_set *set)
{
	const cJSON *item;
	cJSON *outcomes = cJSON_Duplicate(set->omissions, true);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(theirs, "outcomes");
	cJSON_ArrayForEach(item, list)
	{
		(void)cJSON_AddItemToArray(outcomes, cJSON_Duplicate(item, true));
	}
	json_add_item(object, "outcomes", outcomes);
}

/* Without a word of the receiver: what was given up here. */
static void abandoned_add(cJSON *outcomes, const struct files_session *session)
{
	char path[1024];
	for (uint32_t i = 0; i < session->set.count && session->work != NULL; i++) {
		const char *reason = work_reason(session->work, i);
		if (reason == NULL || cJSON_GetArraySize(outcomes) >= 1000)
			continue;
		cJSON *object = cJSON_CreateObject();
		file_path_text(session->set.files[i].entry.path, path, sizeof(path));
		json_add_text(object, "path", path);
		json_add_text(object, "outcome", "failed");
		json_add_u64(object, "bytes", session->set.files[i].entry.size);
		json_add_text(object, "error", reason);
		(void)cJSON_AddItemToArray(outcomes, object);
	}
}

cJSON *files_send_json(const struct send_state *state)
{
	const struct files_session *session = state->files;
	struct work_counts counts = {0};
	cJSON *object = cJSON_CreateObject();
	if (session->work != NULL)
		work_count(session->work, &counts);
	json_add_u64(object, "entries", session->set.count);
	json_add_u64(object, "bytes", session->set.bytes);
	json_add_u64(object, "skipped", session->set.skipped);
	json_add_u64(object, "unread", session->set.unread);
	json_add_text(object, "checksum", CHECKSUM_NAME);
	json_add_u64(object, "block_bytes", FILE_BLOCK_BYTES);
	json_add_text(object, "direct", direct_policy_name(state->options->direct));
	json_add_u64(object, "files_read_direct", counts.files_direct);
	json_add_u64(object, "blocks_sent", counts.blocks_sent);
	json_add_u64(object, "blocks_zero", counts.blocks_zero);
	json_add_u64(object, "blocks_again", counts.blocks_again);
	json_add_u64(object, "blocks_skipped", counts.blocks_skipped);
	json_add_u64(object, "bytes_sent", counts.bytes_sent);
	json_add_u64(object, "bytes_skipped", counts.bytes_skipped);
	const cJSON *theirs = state->report.files;
	outcomes_add(object, theirs, &session->set);
	if (theirs == NULL) {
		abandoned_add(cJSON_GetObjectItemCaseSensitive(object, "outcomes"), session);
		json_add_text(object, "receiver", NULL);
		return object;
	}
	cJSON *rest = cJSON_Duplicate(theirs, true);
	cJSON_DeleteItemFromObjectCaseSensitive(rest, "outcomes");
	json_add_item(object, "receiver", rest);
	return object;
}

void files_send_summary(const struct send_state *state)
{
	uint64_t done = 0;
	uint64_t kept = 0;
	uint64_t anew = 0;
	uint64_t unproved = 0;
	uint64_t durable_bps = 0;
	struct work_counts counts = {0};
	const cJSON *theirs = state->report.files;
	if (theirs == NULL || state->files->work == NULL)
		return;
	work_count(state->files->work, &counts);
	(void)json_get_u64(theirs, "files_done", 0, JSON_INTEGER_MAX, &done);
	(void)json_get_u64(theirs, "files_kept", 0, JSON_INTEGER_MAX, &kept);
	(void)json_get_u64(theirs, "goodput_durable_bps", 0, JSON_INTEGER_MAX, &durable_bps);
	(void)json_get_u64(theirs, "files_anew", 0, JSON_INTEGER_MAX, &anew);
	(void)json_get_u64(theirs, "files_kept_unproved", 0, JSON_INTEGER_MAX, &unproved);
	anew_tell(anew);
	kept_tell(unproved);
	output_note("%llu files written and verified, %llu there already; %llu blocks sent,"
		    " %llu resumed; %.3f Gbit/s with all on the disk",
		    (unsigned long long)done, (unsigned long long)kept,
		    (unsigned long long)counts.blocks_sent,
		    (unsigned long long)counts.blocks_skipped, (double)durable_bps / 1e9);
}
