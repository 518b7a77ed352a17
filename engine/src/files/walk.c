#include "files/walk.h"

#include "files/walk_inside.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OMISSIONS_LISTED 1000
#define NAMES_A_LOOK     64

bool outgoing_source(const struct outgoing *outgoing, char *path, size_t size)
{
	int length = snprintf(path, size, "%s%s", outgoing->prefix, outgoing->entry.path);
	return length >= 0 && (size_t)length < size;
}

int file_set_look(struct file_set *set, struct failure *failure)
{
	if (set->watch == NULL || ++set->seen % NAMES_A_LOOK != 0)
		return 0;
	return set->watch->look(set->watch->context, failure);
}

static void omission_add(struct file_set *set, const char *path, const char *outcome,
			 const char *reason)
{
	char text[2 * PATH_MAX];
	if (cJSON_GetArraySize(set->omissions) >= OMISSIONS_LISTED)
		return;
	cJSON *object = cJSON_CreateObject();
	file_path_text(path, text, sizeof(text));
	json_add_text(object, "path", text);
	json_add_text(object, "outcome", outcome);
	json_add_u64(object, "bytes", 0);
	json_add_text(object, "error", reason);
	(void)cJSON_AddItemToArray(set->omissions, object);
}

void file_set_skip(struct file_set *set, const char *path, const char *reason)
{
	set->skipped++;
	omission_add(set, path, "skipped", reason);
}

void file_set_miss(struct file_set *set, const char *path, const char *reason)
{
	set->unread++;
	omission_add(set, path, "failed", reason);
}

static struct outgoing *outgoing_add(struct file_set *set, struct failure *failure)
{
	if (set->count == FILES_LIMIT) {
		(void)failure_set(failure, "--files: more than %u files at once", FILES_LIMIT);
		return NULL;
	}
	if (set->count == set->room) {
		size_t room = set->room != 0 ? 2 * set->room : 64;
		struct outgoing *grown = realloc(set->files, room * sizeof(*grown));
		if (grown == NULL) {
			(void)failure_set(failure, "out of memory");
			return NULL;
		}
		set->files = grown;
		set->room = room;
	}
	set->files[set->count] = (struct outgoing){0};
	return &set->files[set->count];
}

static void kind_set(struct outgoing *outgoing, const struct stat *status)
{
	struct file_entry *entry = &outgoing->entry;
	entry->kind = S_ISDIR(status->st_mode)   ? FILE_DIRECTORY
		      : S_ISLNK(status->st_mode) ? FILE_SYMLINK
						 : FILE_REGULAR;
	entry->mode = status->st_mode & 0777;
	entry->mtime = status->st_mtim;
	entry->ctime = status->st_ctim;
	outgoing->device = status->st_dev;
	outgoing->inode = status->st_ino;
	if (entry->kind != FILE_REGULAR)
		return;
	entry->size = (uint64_t)status->st_size;
	outgoing->sparse = (uint64_t)status->st_blocks * 512 < entry->size;
}

int file_set_add(struct file_set *set, const char *prefix, const char *source,
		 const struct stat *status, const char *target, struct failure *failure)
{
	const char *path = source + strlen(prefix);
	struct outgoing *outgoing = outgoing_add(set, failure);
	if (outgoing == NULL)
		return -1;
	kind_set(outgoing, status);
	if (outgoing->entry.size > FILE_SIZE_LIMIT) {
		file_set_miss(set, source, "larger than 64 TiB");
		return 0;
	}
	bool link = outgoing->entry.kind == FILE_SYMLINK;
	outgoing->prefix = prefix;
	outgoing->root = set->root;
	outgoing->entry.path = strdup(path);
	outgoing->entry.target = link ? strdup(target) : NULL;
	if (outgoing->entry.path == NULL || (link && outgoing->entry.target == NULL)) {
		file_entry_clear(&outgoing->entry);
		return failure_set(failure, "out of memory");
	}
	set->bytes += outgoing->entry.size;
	set->count++;
	return 0;
}

static int file_add(struct file_set *set, const char *prefix, const char *source,
		    const struct stat *status, struct failure *failure)
{
	char target[FILE_TARGET_BYTES + 2] = "";
	if (S_ISLNK(status->st_mode)) {
		ssize_t length = readlink(source, target, FILE_TARGET_BYTES + 1);
		if (length <= 0 || length > FILE_TARGET_BYTES) {
			file_set_miss(set, source,
				      length < 0 ? strerror(errno)
						 : "the link leads to no possible place");
			return 0;
		}
		target[length] = '\0';
	}
	return file_set_add(set, prefix, source, status, target, failure);
}

/* One thing that fts found. */
static int found_take(struct file_set *set, const char *prefix, const FTSENT *found,
		      struct failure *failure)
{
	const char *path = found->fts_path + strlen(prefix);
	if (file_set_look(set, failure) != 0)
		return -1;
	switch (found->fts_info) {
	case FTS_DP: /* the way back up */
		return 0;
	case FTS_DNR: /* comes instead of the way up: the directory itself was added */
	case FTS_ERR:
	case FTS_NS:
		file_set_miss(set, found->fts_path, strerror(found->fts_errno));
		return 0;
	case FTS_DC:
		file_set_miss(set, found->fts_path, "the directory contains itself");
		return 0;
	default:
		break;
	}
	if (path[0] == '\0') /* the directory whose contents are meant */
		return 0;
	mode_t mode = found->fts_statp->st_mode;
	if (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode)) {
		file_set_skip(set, found->fts_path, "neither a file nor a directory nor a link");
		return 0;
	}
	const char *fault = file_path_fault(path, strlen(path));
	if (fault == NULL)
		return file_add(set, prefix, found->fts_path, found->fts_statp, failure);
	file_set_skip(set, found->fts_path, fault);
	return 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int tree_add(struct file_set *set, const char *path, const char *prefix,
		    struct failure *failure)
{
	char *copy = strdup(path);
	char *roots[] = {copy, NULL};
	FTS *walk = copy != NULL
			? fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name)
			: NULL;
	if (walk == NULL) {
		(void)failure_set_errno(failure, errno, "cannot read '%s'", path);
		free(copy);
		return -1;
	}
	FTSENT *found;
	int status = 0;
	errno = 0;
	while (status == 0 && (found = fts_read(walk)) != NULL)
		status = found_take(set, prefix, found, failure);
	if (status == 0 && errno != 0)
		status = failure_set_errno(failure, errno, "cannot read '%s'", path);
	(void)fts_close(walk);
	free(copy);
	return status;
}

size_t file_prefix_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

static bool is_contents(const char *path)
{
	const char *name = path + file_prefix_length(path);
	return name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

const char *file_set_prefix(struct file_set *set, const char *text, size_t length,
			    struct failure *failure)
{
	char **grown = realloc(set->prefixes, (set->prefix_count + 1) * sizeof(char *));
	if (grown != NULL)
		set->prefixes = grown;
	char *prefix = grown != NULL ? strndup(text, length) : NULL;
	if (prefix == NULL) {
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	set->prefixes[set->prefix_count++] = prefix;
	return prefix;
}

static int path_add(struct file_set *set, const char *path, struct failure *failure)
{
	struct stat status;
	char normal[PATH_MAX];
	if (stat(path, &status) != 0)
		return failure_set_errno(failure, errno, "cannot send '%s'", path);
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return failure_set(failure, "cannot send '%s': neither a file nor a directory",
				   path);
	/* fts drops the slash at the end, or keeps it: here there is always exactly one. */
	bool contents = is_contents(path) && S_ISDIR(status.st_mode);
	size_t length = strlen(path);
	while (contents && length > 0 && path[length - 1] == '/')
		length--;
	int wrote =
	    snprintf(normal, sizeof(normal), "%.*s%s", (int)length, path, contents ? "/" : "");
	if (wrote < 0 || (size_t)wrote >= sizeof(normal))
		return failure_set(failure, "cannot send '%.100s...': too long", path);
	const char *prefix = file_set_prefix(
	    set, normal, contents ? (size_t)wrote : file_prefix_length(normal), failure);
	return prefix != NULL ? tree_add(set, normal, prefix, failure) : -1;
}

static int by_path(const void *a, const void *b, void *files)
{
	const struct outgoing *first = (const struct outgoing *)files + *(const uint32_t *)a;
	const struct outgoing *second = (const struct outgoing *)files + *(const uint32_t *)b;
	return strcmp(first->entry.path, second->entry.path);
}

int file_set_names_check(const struct file_set *set, struct failure *failure)
{
	char text[512];
	if (set->prefix_count < 2)
		return 0;
	uint32_t *sorted = calloc((size_t)set->count + 1, sizeof(*sorted));
	if (sorted == NULL)
		return failure_set(failure, "out of memory");
	for (uint32_t i = 0; i < set->count; i++)
		sorted[i] = i;
	qsort_r(sorted, set->count, sizeof(*sorted), by_path, set->files);
	int status = 0;
	for (uint32_t i = 1; i < set->count && status == 0; i++) {
		const char *path = set->files[sorted[i]].entry.path;
		if (strcmp(set->files[sorted[i - 1]].entry.path, path) != 0)
			continue;
		file_path_text(path, text, sizeof(text));
		status = failure_set(failure, "--files: two of the paths would both be '%s' there",
				     text);
	}
	free(sorted);
	return status;
}

int file_set_fill(struct file_set *set, const struct walk_watch *watch, char *const *paths,
		  unsigned count, struct failure *failure)
{
	*set = (struct file_set){.root = -1, .watch = watch, .omissions = cJSON_CreateArray()};
	for (unsigned i = 0; i < count; i++) {
		if (path_add(set, paths[i], failure) != 0)
			return -1;
	}
	return file_set_names_check(set, failure);
}

void file_set_clear(struct file_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		file_entry_clear(&set->files[i].entry);
	for (size_t i = 0; i < set->prefix_count; i++)
		free(set->prefixes[i]);
	free(set->files);
	free(set->prefixes);
	cJSON_Delete(set->omissions);
	*set = (struct file_set){.root = -1};
}
