/* The walk below an open directory: by descriptors, so that no link leads anywhere else. */
#include "files/root.h"
#include "files/walk_inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 256

struct walk {
	struct file_set *set;
	const char *prefix;
	struct failure *failure;
	char path[PATH_MAX]; /* below the root, of what is looked at */
};

static int directory_walk(struct walk *walk, unsigned depth);

static int link_add(struct walk *walk, int directory, const char *name, const struct stat *status)
{
	char target[FILE_TARGET_BYTES + 2];
	ssize_t length = readlinkat(directory, name, target, FILE_TARGET_BYTES + 1);
	if (length <= 0 || length > FILE_TARGET_BYTES) {
		file_set_miss(walk->set, walk->path,
			      length < 0 ? strerror(errno) : "the link leads to no possible place");
		return 0;
	}
	target[length] = '\0';
	return file_set_add(walk->set, walk->prefix, walk->path, status, target, walk->failure);
}

/* One name of an open directory, whose path is in the walk already. */
static int name_take(struct walk *walk, int directory, const char *name, unsigned depth)
{
	struct stat status;
	const char *own = walk->path + strlen(walk->prefix);
	const char *fault = file_path_fault(own, strlen(own));
	if (file_set_look(walk->set, walk->failure) != 0)
		return -1;
	if (fault != NULL) {
		file_set_skip(walk->set, walk->path, fault);
		return 0;
	}
	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
		file_set_miss(walk->set, walk->path, strerror(errno));
		return 0;
	}
	if (S_ISLNK(status.st_mode))
		return link_add(walk, directory, name, &status);
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
		file_set_skip(walk->set, walk->path, "neither a file nor a directory nor a link");
		return 0;
	}
	if (file_set_add(walk->set, walk->prefix, walk->path, &status, NULL, walk->failure) != 0)
		return -1;
	return S_ISDIR(status.st_mode) ? directory_walk(walk, depth + 1) : 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_named(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* What is in the directory that the walk's path names; "" is the root. */
static int directory_walk(struct walk *walk, unsigned depth)
{
	int fd = -1;
	struct dirent **names = NULL;
	size_t length = strlen(walk->path);
	int error = depth > DEPTH_MAX
			? ELOOP
			: root_directory(walk->set->root, length != 0 ? walk->path : ".", &fd);
	int count = error == 0 ? scandirat(fd, ".", &names, is_named, by_name) : -1;
	if (count < 0) {
		file_set_miss(walk->set, walk->path, strerror(error != 0 ? error : errno));
		if (fd >= 0)
			(void)close(fd);
		return 0;
	}
	int status = 0;
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name;
		const char *slash = length != 0 && walk->path[length - 1] != '/' ? "/" : "";
		int wrote =
		    snprintf(walk->path + length, sizeof(walk->path) - length, "%s%s", slash, name);
		if (status == 0 && wrote > 0 && (size_t)wrote < sizeof(walk->path) - length)
			status = name_take(walk, fd, name, depth);
		else if (status == 0)
			file_set_miss(walk->set, name, "its path is too long");
		walk->path[length] = '\0';
		free(names[i]);
	}
	free(names);
	(void)close(fd);
	return status;
}

static const char *error_text(int error)
{
	return error == ELOOP || error == EXDEV ? "a link is on the way there, and none is followed"
						: strerror(error);
}

/* The path as it was asked for. */
static int path_refuse(struct walk *walk, const char *path, const char *why)
{
	char text[512];
	file_path_text(path, text, sizeof(text));
	return failure_set(walk->failure, "cannot send '%.200s': %s", text, why);
}

/* All that is in a directory: "." or "run7/". */
static int contents_add(struct walk *walk, const char *path, size_t length)
{
	int fd = -1;
	bool whole = length == 1 && path[0] == '.';
	(void)snprintf(walk->path, sizeof(walk->path), "%.*s", whole ? 0 : (int)length, path);
	int error = root_directory(walk->set->root, whole ? "." : walk->path, &fd);
	if (error != 0)
		return path_refuse(walk, path, error_text(error));
	(void)close(fd);
	if (!whole)
		(void)snprintf(walk->path, sizeof(walk->path), "%.*s/", (int)length, path);
	walk->prefix = file_set_prefix(walk->set, walk->path, strlen(walk->path), walk->failure);
	return walk->prefix != NULL ? directory_walk(walk, 0) : -1;
}

static int named_add(struct walk *walk, const char *path)
{
	struct place place;
	struct stat status;
	int error = root_place(walk->set->root, path, &place);
	if (error == 0)
		error = place_status(&place, &status);
	if (error == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
		place_leave(&place);
		return path_refuse(walk, path, "neither a file nor a directory");
	}
	if (error != 0) {
		place_leave(&place);
		return path_refuse(walk, path, error_text(error));
	}
	(void)snprintf(walk->path, sizeof(walk->path), "%s", path);
	walk->prefix = file_set_prefix(walk->set, path, file_prefix_length(path), walk->failure);
	int done = walk->prefix != NULL ? name_take(walk, place.directory, place.name, 0) : -1;
	place_leave(&place);
	return done;
}

/* The path is as wanted_take has left it: "." or names, with "/" behind them for what is in it. */
static int path_add(struct walk *walk, const char *path)
{
	char own[FILE_PATH_BYTES + 1];
	size_t length = strlen(path);
	if (strcmp(path, ".") == 0)
		return contents_add(walk, path, length);
	bool contents = length > 1 && path[length - 1] == '/';
	length -= contents ? 1 : 0;
	const char *fault = file_path_fault(path, length);
	if (fault != NULL)
		return path_refuse(walk, path, fault);
	(void)snprintf(own, sizeof(own), "%.*s", (int)length, path);
	return contents ? contents_add(walk, own, length) : named_add(walk, own);
}

int file_set_fill_below(struct file_set *set, const struct walk_watch *watch, int root,
			char *const *paths, unsigned count, struct failure *failure)
{
	struct walk walk = {.set = set, .failure = failure};
	*set = (struct file_set){.root = root, .watch = watch, .omissions = cJSON_CreateArray()};
	for (unsigned i = 0; i < count; i++) {
		if (path_add(&walk, paths[i]) != 0)
			return -1;
	}
	return file_set_names_check(set, failure);
}
