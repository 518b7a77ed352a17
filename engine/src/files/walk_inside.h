/* How a set of files grows: shared by walk.c and walk_below.c only. */
#pragma once

#include "files/walk.h"

#include <sys/stat.h>

/* At each name: whoever watches the walk may end it, -1 with the failure set. */
int file_set_look(struct file_set *set, struct failure *failure);
/* A file, a directory or a link, which says `target`. `source` is where it lies: prefix and path.
 */
int file_set_add(struct file_set *set, const char *prefix, const char *source,
		 const struct stat *status, const char *target, struct failure *failure);
/* What is left out, and what could not be looked at. */
void file_set_skip(struct file_set *set, const char *path, const char *reason);
void file_set_miss(struct file_set *set, const char *path, const char *reason);
/* The prefix, kept as long as the set; NULL with the failure set. */
const char *file_set_prefix(struct file_set *set, const char *text, size_t length,
			    struct failure *failure);
/* The part of a path that does not travel: "/data/" of "/data/run7", all of "/data/run7/". */
size_t file_prefix_length(const char *path);
/* Two PATHs may hold the same name: which of them would be there in the end? */
int file_set_names_check(const struct file_set *set, struct failure *failure);
