/*
 * The one directory that a receiver writes below. The kernel itself refuses every way out: paths
 * are opened with openat2(2), RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, and what is done in a
 * directory is done with one name relative to its open descriptor. So a link that is planted
 * meanwhile is an error or is replaced, and is never followed.
 */
#pragma once

#include "base/failure.h"
#include "files/list.h"

#include <sys/stat.h>
#include <sys/types.h>

/* The directory as a descriptor; also tells when the kernel has no openat2. -1 on failure. */
int root_open(const char *option, const char *directory, struct failure *failure);

/* A place: the open directory, and one name in it. */
struct place {
	int directory;
	const char *name; /* part of the path that was asked for */
};

/* Each returns 0 or a positive errno. `path` must have passed file_path_fault. */
int root_place(int root, const char *path, struct place *place);
void place_leave(struct place *place);
/* A file with that path, to be read, which no link leads to. */
int root_file(int root, const char *path, int *fd);
/* A directory with that path; ENOENT and others as openat2. */
int root_directory(int root, const char *path, int *fd);

/*
 * Where the target of a link at `path` leads to, by way of links that are there already: EXDEV when
 * that is outside. What leads to nothing (yet) leads nowhere, and that is 0.
 */
int root_target_check(int root, const char *path, const char *target);

/* A directory is there afterwards, with at least rwx for its owner. */
int place_make_directory(const struct place *place);
/*
 * A regular file of ours alone, opened for reading and writing, and its status; what else is there
 * is removed. *fd is -1 where there is none.
 */
int place_open_file(const struct place *place, const char *name, int extra_flags, int *fd,
		    struct stat *status);
int place_make_link(const struct place *place, const char *target);
int place_status(const struct place *place, struct stat *status);

/* The hidden names of the unfinished file and of its journal. */
struct partial_names {
	char partial[FILE_NAME_BYTES + 1];
	char journal[FILE_NAME_BYTES + 1];
};

void partial_names_make(const char *name, struct partial_names *names);
