#include "files/list.h"

#include "base/text_sanitize.h"

#include "base/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *name, size_t length, const char *suffix)
{
	size_t count = strlen(suffix);
	return length >= count && memcmp(name + length - count, suffix, count) == 0;
}

static const char *name_fault(const char *name, size_t length)
{
	if (length == 0)
		return "has an empty name in it";
	if (length > FILE_NAME_BYTES)
		return "has a name above 255 bytes in it";
	if ((length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.'))
		return "has '.' or '..' in it";
	if (name[0] == '.' &&
	    (ends_with(name, length, PARTIAL_SUFFIX) || ends_with(name, length, JOURNAL_SUFFIX) ||
	     ends_with(name, length, PARTIAL_LONG_SUFFIX) ||
	     ends_with(name, length, JOURNAL_LONG_SUFFIX)))
		return "is a name that unfinished transfers use";
	return NULL;
}

const char *file_path_fault(const char *path, size_t length)
{
	if (length == 0)
		return "is empty";
	if (length > FILE_PATH_BYTES)
		return "is above 4095 bytes";
	if (memchr(path, '\0', length) != NULL)
		return "has a NUL in it";
	if (path[0] == '/')
		return "is absolute";
	size_t begin = 0;
	for (;;) {
		const char *slash = memchr(path + begin, '/', length - begin);
		size_t end = slash != NULL ? (size_t)(slash - path) : length;
		const char *fault = name_fault(path + begin, end - begin);
		if (fault != NULL || end == length)
			return fault;
		begin = end + 1;
	}
}

bool file_target_is_inside(const char *path, const char *target)
{
	size_t depth = 0;
	bool named = false;
	if (target[0] == '/')
		return false;
	for (const char *at = path; *at != '\0'; at++)
		depth += *at == '/' ? 1 : 0;
	for (const char *at = target; *at != '\0';) {
		size_t count = strcspn(at, "/");
		if (count == 2 && at[0] == '.' && at[1] == '.') {
			if (named || depth-- == 0)
				return false;
		} else if (count > 1 || (count == 1 && at[0] != '.')) {
			named = true;
		}
		at += count;
		at += *at == '/' ? 1 : 0;
	}
	return true;
}

size_t file_entry_bytes(const struct file_entry *entry)
{
	return ENTRY_FIXED_BYTES + strlen(entry->path) +
	       (entry->target != NULL ? strlen(entry->target) : 0);
}

void file_entry_encode(const struct file_entry *entry, uint8_t *bytes)
{
	size_t path_length = strlen(entry->path);
	size_t target_length = entry->target != NULL ? strlen(entry->target) : 0;
	uint8_t *at = wire_put_u8(bytes, (uint8_t)entry->kind);
	at = wire_put_u16(at, (uint16_t)entry->mode);
	at = wire_put_u64(at, entry->size);
	at = wire_put_time(at, &entry->mtime);
	at = wire_put_time(at, &entry->ctime);
	at = wire_put_u16(at, (uint16_t)path_length);
	at = wire_put_u16(at, (uint16_t)target_length);
	memcpy(at, entry->path, path_length);
	if (entry->target != NULL)
		memcpy(at + path_length, entry->target, target_length);
}

static const uint8_t *time_get(const uint8_t *at, struct timespec *time, bool *valid)
{
	uint64_t seconds;
	uint32_t nanoseconds;
	at = wire_get_u64(at, &seconds);
	at = wire_get_u32(at, &nanoseconds);
	time->tv_sec = (time_t)seconds;
	time->tv_nsec = (long)nanoseconds;
	*valid = *valid && nanoseconds < 1000000000;
	return at;
}

static char *text_copy(const uint8_t *bytes, size_t count)
{
	char *text = malloc(count + 1);
	if (text != NULL) {
		memcpy(text, bytes, count);
		text[count] = '\0';
	}
	return text;
}

static int members_check(const struct file_entry *entry, bool times_valid, uint16_t target_length,
			 const uint8_t *target, struct failure *failure)
{
	if (entry->kind < FILE_REGULAR || entry->kind > FILE_SYMLINK || entry->mode > 0777 ||
	    !times_valid)
		return failure_set(failure, "the list of files has an entry that is none");
	if (entry->size > (entry->kind == FILE_REGULAR ? FILE_SIZE_LIMIT : 0))
		return failure_set(failure, "the list of files has a file above 64 TiB");
	bool is_link = entry->kind == FILE_SYMLINK;
	if ((target_length != 0) != is_link || target_length > FILE_TARGET_BYTES ||
	    memchr(target, '\0', target_length) != NULL)
		return failure_set(failure,
				   "the list of files has a link that leads to no possible place");
	return 0;
}

int file_entry_decode(const uint8_t *bytes, size_t size, size_t *used, struct file_entry *entry,
		      struct failure *failure)
{
	uint8_t kind;
	uint16_t mode;
	uint16_t path_length;
	uint16_t target_length;
	bool times_valid = true;
	if (size < ENTRY_FIXED_BYTES)
		return failure_set(failure, "the list of files ends within an entry");
	const uint8_t *at = wire_get_u8(bytes, &kind);
	at = wire_get_u16(at, &mode);
	at = wire_get_u64(at, &entry->size);
	at = time_get(at, &entry->mtime, &times_valid);
	at = time_get(at, &entry->ctime, &times_valid);
	at = wire_get_u16(at, &path_length);
	at = wire_get_u16(at, &target_length);
	entry->kind = (enum file_kind)kind;
	entry->mode = mode;
	if (size - ENTRY_FIXED_BYTES < (size_t)path_length + target_length)
		return failure_set(failure, "the list of files ends within an entry");
	const uint8_t *target = at + path_length;
	if (members_check(entry, times_valid, target_length, target, failure) != 0)
		return -1;
	const char *fault = file_path_fault((const char *)at, path_length);
	if (fault != NULL)
		return failure_set(failure, "the list of files has a path that %s", fault);
	entry->path = text_copy(at, path_length);
	entry->target = target_length != 0 ? text_copy(target, target_length) : NULL;
	if (entry->path == NULL || (target_length != 0 && entry->target == NULL)) {
		file_entry_clear(entry);
		return failure_set(failure, "out of memory");
	}
	*used = ENTRY_FIXED_BYTES + (size_t)path_length + target_length;
	return 0;
}

void file_entry_clear(struct file_entry *entry)
{
	free(entry->path);
	free(entry->target);
	entry->path = NULL;
	entry->target = NULL;
}

void file_path_text(const char *path, char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)path;
	size_t used = 0;
	while (*at != '\0' && used + 5 < size) {
		size_t count = text_character((const char *)at);
		if (count == 0) {
			used += (size_t)snprintf(text + used, size - used, "\\x%02x", *at);
			at++;
			continue;
		}
		if (*at == '\\')
			text[used++] = '\\';
		memcpy(text + used, at, count);
		used += count;
		at += count;
	}
	text[used] = '\0';
}
