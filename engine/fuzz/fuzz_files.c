/*
 * A data connection of a stranger who sends files: records, and the entries of lists. What decodes
 * must encode to the same bytes, and no path that passes may be one that leads out.
 */
#include "files/list.h"
#include "files/record.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Up first, as far as it lies deep at most, then down: "x/.." may be anywhere. */
static void target_check(const char *path, const char *target)
{
	unsigned depth = 0;
	for (const char *at = strchr(path, '/'); at != NULL; at = strchr(at + 1, '/'))
		depth++;
	if (target[0] == '/')
		abort();
	while (*target != '\0') {
		target += strspn(target, "/");
		if (strncmp(target, "..", 2) == 0 && (target[2] == '/' || target[2] == '\0')) {
			if (depth-- == 0)
				abort();
		} else if (*target != '\0' && strcmp(target, ".") != 0 &&
			   strncmp(target, "./", 2) != 0) {
			break;
		}
		target += strcspn(target, "/");
	}
	if (strstr(target, "/../") != NULL ||
	    (strlen(target) > 2 && strcmp(target + strlen(target) - 3, "/..") == 0))
		abort();
}

static void entry_check(const struct file_entry *entry, const uint8_t *bytes, size_t used)
{
	uint8_t again[ENTRY_BYTES_MAX];
	char text[64];
	if (used > sizeof(again) || file_entry_bytes(entry) != used)
		abort();
	file_entry_encode(entry, again);
	if (memcmp(again, bytes, used) != 0)
		abort();
	if (entry->path[0] == '/' || entry->path[0] == '\0' || strcmp(entry->path, "..") == 0 ||
	    strncmp(entry->path, "../", 3) == 0 || strstr(entry->path, "/../") != NULL)
		abort();
	file_path_text(entry->path, text, sizeof(text));
	if (entry->target != NULL && file_target_is_inside(entry->path, entry->target))
		target_check(entry->path, entry->target);
}

static void list_try(const uint8_t *bytes, size_t size)
{
	size_t used;
	struct file_entry entry;
	struct failure failure = {0};
	for (size_t at = 0; at < size; at += used) {
		if (file_entry_decode(bytes + at, size - at, &used, &entry, &failure) != 0)
			return;
		entry_check(&entry, bytes + at, used);
		file_entry_clear(&entry);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record record;
	uint8_t again[RECORD_BYTES];
	struct failure failure = {0};
	if (size < 1)
		return 0;
	/* The guard of a header keeps a fuzzer from the entries: half of the inputs are a list. */
	if (data[0] % 2 == 0) {
		list_try(data + 1, size - 1);
		return 0;
	}
	for (size_t at = 1; size - at >= RECORD_BYTES;) {
		if (record_decode(data + at, &record, &failure) != 0)
			return 0;
		record_encode(&record, again);
		if (memcmp(again, data + at, RECORD_BYTES) != 0)
			abort();
		at += RECORD_BYTES;
		uint32_t payload = record_payload(&record);
		if (payload > FILE_BLOCK_BYTES)
			abort();
		if (payload > size - at)
			return 0;
		if (record.kind == RECORD_LIST)
			list_try(data + at, payload);
		at += payload;
	}
	return 0;
}
