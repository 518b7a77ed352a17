#include "files/message.h"

#include "base/hex.h"
#include "base/output.h"
#include "control/message.h"
#include "files/list.h"

#include <stdlib.h>
#include <string.h>

void kept_tell(uint64_t files)
{
	if (files != 0)
		output_note("%llu files were there already, with their size and mtime: what is in "
			    "them is not "
			    "compared, and may have come without protection (--protect)",
			    (unsigned long long)files);
}

void anew_tell(uint64_t files)
{
	if (files != 0)
		output_note(
		    "%llu unfinished files are not resumed, but begun anew: what is there came with"
		    " other protection (--protect) or under another key",
		    (unsigned long long)files);
}

cJSON *have_encode(const struct have *have)
{
	cJSON *message = message_create(MESSAGE_FILES_HAVE);
	size_t count = ((size_t)have->blocks + 7) / 8;
	char *hex = malloc(2 * count + 1);
	json_add_u64(message, "entry", have->entry);
	json_add_u64(message, "first_block", have->first_block);
	json_add_u64(message, "blocks", hex != NULL ? have->blocks : 0);
	if (hex != NULL)
		hex_encode(have->bitmap, count, hex);
	/* Out of memory: nothing is claimed, and all of it is sent again. */
	json_add_text(message, "bitmap", hex != NULL ? hex : "");
	free(hex);
	return message;
}

static bool bitmap_decode(const char *hex, size_t count, uint8_t *bitmap)
{
	return hex != NULL && hex_decode(hex, bitmap, count);
}

static bool get_u32(const cJSON *message, const char *name, uint64_t high, uint32_t *value)
{
	uint64_t wide;
	if (!json_get_u64(message, name, 0, high, &wide))
		return false;
	*value = (uint32_t)wide;
	return true;
}

int have_decode(const cJSON *message, struct have *have, struct failure *failure)
{
	if (!get_u32(message, "entry", FILES_LIMIT, &have->entry) ||
	    !get_u32(message, "first_block", UINT32_MAX, &have->first_block) ||
	    !get_u32(message, "blocks", HAVE_BLOCKS, &have->blocks) ||
	    !bitmap_decode(json_get_text(message, "bitmap"), ((size_t)have->blocks + 7) / 8,
			   have->bitmap))
		return failure_set(failure, "the receiver's list of blocks is not as it should be");
	return 0;
}

cJSON *state_create(void)
{
	cJSON *message = message_create(MESSAGE_FILES_STATE);
	(void)json_add_array(message, STATE_KEPT);
	(void)json_add_array(message, STATE_FAILED);
	return message;
}

void state_add(cJSON *message, const char *list, uint32_t entry)
{
	cJSON *array = cJSON_GetObjectItemCaseSensitive(message, list);
	(void)cJSON_AddItemToArray(array, cJSON_CreateNumber(entry));
}

void state_finish(cJSON *message, uint32_t known)
{
	json_add_u64(message, "known", known);
}

static bool numbers_check(const cJSON *array, uint32_t known)
{
	const cJSON *number;
	if (!cJSON_IsArray(array))
		return false;
	cJSON_ArrayForEach(number, array)
	{
		if (!cJSON_IsNumber(number) || !(number->valuedouble >= 0) ||
		    number->valuedouble >= known)
			return false;
	}
	return true;
}

int state_decode(const cJSON *message, uint32_t limit, struct state_view *view,
		 struct failure *failure)
{
	view->kept = cJSON_GetObjectItemCaseSensitive(message, STATE_KEPT);
	view->failed = cJSON_GetObjectItemCaseSensitive(message, STATE_FAILED);
	if (!get_u32(message, "known", limit, &view->known) ||
	    !numbers_check(view->kept, view->known) || !numbers_check(view->failed, view->known))
		return failure_set(failure,
				   "the receiver's answer to the list is not as it should be");
	return 0;
}

cJSON *again_encode(const struct again *again)
{
	cJSON *message = message_create(MESSAGE_FILES_AGAIN);
	json_add_u64(message, "entry", again->entry);
	json_add_u64(message, "block", again->block);
	return message;
}

int again_decode(const cJSON *message, struct again *again, struct failure *failure)
{
	if (!get_u32(message, "entry", FILES_LIMIT, &again->entry) ||
	    !get_u32(message, "block", UINT32_MAX, &again->block))
		return failure_set(failure, "the receiver asks again for no possible block");
	return 0;
}

cJSON *progress_encode(const struct progress *progress)
{
	cJSON *message = message_create(MESSAGE_FILES_PROGRESS);
	json_add_u64(message, "bytes", progress->bytes);
	json_add_u64(message, "resumed", progress->resumed);
	json_add_u64(message, "settled", progress->settled);
	json_add_bool(message, "busy", progress->busy);
	return message;
}

int progress_decode(const cJSON *message, struct progress *progress, struct failure *failure)
{
	if (!json_get_u64(message, "bytes", 0, JSON_INTEGER_MAX, &progress->bytes) ||
	    !json_get_u64(message, "resumed", 0, JSON_INTEGER_MAX, &progress->resumed) ||
	    !json_get_u64(message, "settled", 0, JSON_INTEGER_MAX, &progress->settled))
		return failure_set(failure, "the receiver's progress is not as it should be");
	progress->busy = json_get_true(message, "busy");
	return 0;
}
