/* The list of what is to be transferred: entries with paths, sizes, modes and times. */
#pragma once

#include "base/failure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Whether symbolic links are made that lead out of the directory; none is ever followed. */
enum links_policy { LINKS_INSIDE, LINKS_ALL, LINKS_NONE };

/* Of a path below the receiver's directory, and of what a symbolic link says (PATH_MAX). */
#define FILE_PATH_BYTES   4095
#define FILE_TARGET_BYTES 4095
#define FILE_NAME_BYTES   255
#define FILES_LIMIT       (UINT32_C(1) << 24)
/* 64 TiB: the bitmap of a file's blocks stays below 8 MiB. */
#define FILE_SIZE_LIMIT   (UINT64_C(1) << 46)
#define ENTRY_FIXED_BYTES 39
#define ENTRY_BYTES_MAX   (ENTRY_FIXED_BYTES + FILE_PATH_BYTES + FILE_TARGET_BYTES)

/* What an unfinished file and its journal are called: "." NAME suffix. */
#define PARTIAL_SUFFIX      ".landspeed-partial"
#define JOURNAL_SUFFIX      ".landspeed-journal"
#define PARTIAL_LONG_SUFFIX ".landspeed-partial-long"
#define JOURNAL_LONG_SUFFIX ".landspeed-journal-long"

enum file_kind { FILE_REGULAR = 1, FILE_DIRECTORY, FILE_SYMLINK };

struct file_entry {
	enum file_kind kind;
	uint32_t mode; /* permission bits, 0777; the others are not kept */
	uint64_t size;
	struct timespec mtime;
	struct timespec ctime; /* tells versions apart that claim the same mtime */
	char *path;            /* relative, NUL-terminated */
	char *target;          /* of a symbolic link, else NULL */
};

/* Why no file may have that path at the receiver, in words, or NULL when it may. */
const char *file_path_fault(const char *path, size_t length);
/*
 * True when a link at `path` with that target leads to a place below the directory, as long as all
 * links there do: it may go up from where it lies, and from there down by names. A ".." after a
 * name goes up from wherever that name leads, which no text can tell.
 */
bool file_target_is_inside(const char *path, const char *target);

/* Bytes that file_entry_encode writes. */
size_t file_entry_bytes(const struct file_entry *entry);
void file_entry_encode(const struct file_entry *entry, uint8_t *bytes);
/*
 * One entry from the front of `bytes`, checked; *used is its length there. The caller clears it.
 * -1 with the failure set otherwise.
 */
int file_entry_decode(const uint8_t *bytes, size_t size, size_t *used, struct file_entry *entry,
		      struct failure *failure);
void file_entry_clear(struct file_entry *entry);

/* The path as valid UTF-8 for people and JSON: odd bytes become \xNN, a backslash is doubled. */
void file_path_text(const char *path, char *text, size_t size);
