/* What PATH... on the command line stand for. */
#pragma once

#include "base/json.h"
#include "files/list.h"

#include <sys/types.h>

/* A file as the sender knows it. */
struct outgoing {
	struct file_entry entry;
	const char *prefix; /* prefix + path is where it lies here */
	int root;           /* below that directory, and by no link; -1: anywhere */
	dev_t device;
	ino_t inode;
	bool sparse;
};

/* Asked now and then during a walk, which may be long; -1 with the failure set: it shall end. */
struct walk_watch {
	int (*look)(void *context, struct failure *failure);
	void *context;
};

struct file_set {
	int root;                       /* of all of them; -1: none */
	const struct walk_watch *watch; /* NULL: nobody is asked */
	uint64_t seen;                  /* names that the walk came by */
	struct outgoing *files;
	uint32_t count;
	size_t room;
	char **prefixes;
	size_t prefix_count;
	uint64_t bytes;   /* of regular files */
	uint64_t skipped; /* pipes, sockets, devices and our own unfinished files */
	uint64_t unread;  /* what could not be looked at */
	cJSON *omissions; /* {"path", "outcome", "bytes", "error"} of both, the first of them */
};

/*
 * Fills the set. A PATH goes by its last name, as with cp -r; one that ends in "/", "." or ".."
 * stands for what is in it. Links on the command line are followed, those below are sent as links.
 * -1 with the failure set when a PATH itself is no file or directory, or two have the same name.
 */
int file_set_fill(struct file_set *set, const struct walk_watch *watch, char *const *paths,
		  unsigned count, struct failure *failure);
/*
 * The same below an open directory, which stays the caller's and open as long as the set: no path
 * leads out, by whatever link, and "." is the directory itself.
 */
int file_set_fill_below(struct file_set *set, const struct walk_watch *watch, int root,
			char *const *paths, unsigned count, struct failure *failure);
void file_set_clear(struct file_set *set);
/* Where a file lies; false when that is too long. */
bool outgoing_source(const struct outgoing *outgoing, char *path, size_t size);
