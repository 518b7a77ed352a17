#include "files/incoming.h"

#include "base/clock.h"
#include "base/pread_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

uint32_t file_blocks(uint64_t size)
{
	return (uint32_t)((size + FILE_BLOCK_BYTES - 1) / FILE_BLOCK_BYTES);
}

uint32_t file_block_bytes(uint64_t size, uint32_t block)
{
	uint64_t left = size - (uint64_t)block * FILE_BLOCK_BYTES;
	return left < FILE_BLOCK_BYTES ? (uint32_t)left : FILE_BLOCK_BYTES;
}

struct incoming *incoming_create(const struct file_entry *entry, uint32_t number)
{
	struct incoming *incoming = calloc(1, sizeof(*incoming));
	if (incoming == NULL)
		return NULL;
	incoming->entry = *entry;
	incoming->number = number;
	incoming->blocks = file_blocks(entry->size);
	incoming->missing = incoming->blocks;
	incoming->fd = -1;
	incoming->place.directory = -1;
	incoming->journal.fd = -1;
	return incoming;
}

void incoming_close(struct incoming *incoming)
{
	if (incoming->fd >= 0)
		(void)close(incoming->fd);
	incoming->fd = -1;
	journal_close(&incoming->journal);
	place_leave(&incoming->place);
	free(incoming->verified);
	free(incoming->claims);
	incoming->verified = NULL;
	incoming->claims = NULL;
}

void incoming_destroy(struct incoming *incoming)
{
	incoming_close(incoming);
	file_entry_clear(&incoming->entry);
	free(incoming->error);
	free(incoming);
}

bool incoming_has(const struct incoming *incoming, uint32_t block)
{
	return (incoming->verified[block / 8] >> block % 8 & 1) != 0;
}

void incoming_mark(struct incoming *incoming, uint32_t block)
{
	incoming->verified[block / 8] |= (uint8_t)(1U << block % 8);
	incoming->missing--;
}

/* By descriptor, and only if the name still leads to that file. */
static int mode_set(const struct place *place, const struct stat *seen, uint32_t mode)
{
	struct stat status;
	int fd =
	    openat(place->directory, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno;
	int error = fstat(fd, &status) != 0 ? errno : 0;
	if (error == 0 && (status.st_ino != seen->st_ino || status.st_dev != seen->st_dev ||
			   status.st_nlink != 1))
		error = EAGAIN;
	if (error == 0 && fchmod(fd, mode) != 0)
		error = errno;
	(void)close(fd);
	return error;
}

int incoming_compare(struct incoming *incoming, int root, bool *kept)
{
	struct stat status = {0};
	struct place place;
	struct partial_names names;
	*kept = false;
	int error = root_place(root, incoming->entry.path, &place);
	if (error != 0)
		return error;
	error = place_status(&place, &status);
	if (error == 0 && S_ISDIR(status.st_mode))
		error = EISDIR;
	bool mode_differs = (status.st_mode & 0777) != incoming->entry.mode;
	/* What has a second name may be somebody else's: it is replaced rather than changed. */
	if (error == 0 && S_ISREG(status.st_mode) &&
	    (uint64_t)status.st_size == incoming->entry.size &&
	    clock_equal(&status.st_mtim, &incoming->entry.mtime) &&
	    (!mode_differs || status.st_nlink == 1)) {
		*kept = true;
		if (mode_differs)
			error = mode_set(&place, &status, incoming->entry.mode);
		/* Ended between the rename and this. */
		partial_names_make(place.name, &names);
		(void)unlinkat(place.directory, names.journal, 0);
	}
	place_leave(&place);
	return error == ENOENT ? 0 : error;
}

static int lock_take(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno == EWOULDBLOCK ? EBUSY : errno;
}

/*
 * The partial file, and its lock. Between the two who had it may have finished: then this is
 * another's whole file by now, under its own name, and the partial file is a new one.
 */
static int partial_open(struct incoming *incoming, const char *name)
{
	const struct place *place = &incoming->place;
	struct stat open;
	struct stat named;
	for (;;) {
		int error = place_open_file(place, name, O_CREAT, &incoming->fd, &open);
		if (error == 0)
			error = lock_take(incoming->fd);
		if (error != 0 ||
		    (fstatat(place->directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		     named.st_dev == open.st_dev && named.st_ino == open.st_ino))
			return error;
		(void)close(incoming->fd);
		incoming->fd = -1;
	}
}

static int bitmap_make(struct incoming *incoming)
{
	incoming->verified = calloc((size_t)incoming->blocks / 8 + 1, 1);
	return incoming->verified != NULL ? 0 : ENOMEM;
}

/* Place, file and journal. An empty journal is made where there is none. */
static int files_open(struct incoming *incoming, int root)
{
	int fd;
	struct stat status;
	struct partial_names names;
	int error = root_place(root, incoming->entry.path, &incoming->place);
	if (error != 0)
		return error;
	partial_names_make(incoming->place.name, &names);
	if ((error = partial_open(incoming, names.partial)) != 0 ||
	    (error = bitmap_make(incoming)) != 0)
		return error;
	if (incoming->blocks <= 1)
		return 0;
	if ((error = place_open_file(&incoming->place, names.journal, O_CREAT, &fd, &status)) != 0)
		return error;
	return journal_start(&incoming->journal, fd, &incoming->entry, incoming->trust);
}

bool incoming_prove(const struct incoming *incoming, uint32_t block, void *buffer)
{
	struct journal_claim claim;
	uint32_t bytes = file_block_bytes(incoming->entry.size, block);
	if (!journal_claim_at(&incoming->journal, incoming->claims[block] - 1, &claim) ||
	    claim.block != block)
		return false;
	ssize_t got = pread_all(incoming->fd, buffer, bytes, FILE_BLOCK_BYTES,
				(uint64_t)block * FILE_BLOCK_BYTES);
	if (got < (ssize_t)bytes)
		return false;
	struct checksum checksum = checksum_of(buffer, bytes);
	return checksum_equal(&checksum, &claim.checksum);
}

static int claims_read(struct incoming *incoming, uint32_t *claimed)
{
	int status;
	struct journal_claim claim;
	struct journal *journal = &incoming->journal;
	incoming->claims = calloc(incoming->blocks, sizeof(*incoming->claims));
	if (incoming->claims == NULL)
		return ENOMEM;
	while ((status = journal_next(journal, &claim)) == 1 && journal->read_count <= UINT32_MAX) {
		*claimed += incoming->claims[claim.block] == 0 ? 1 : 0;
		incoming->claims[claim.block] = (uint32_t)journal->read_count;
	}
	return status >= 0 ? 0 : errno;
}

int incoming_resume(struct incoming *incoming, int root, enum direct_policy direct,
		    uint32_t *claimed)
{
	struct place place;
	struct stat status;
	struct partial_names names;
	*claimed = 0;
	if (incoming->blocks <= 1 || root_place(root, incoming->entry.path, &place) != 0)
		return 0;
	partial_names_make(place.name, &names);
	bool there = fstatat(place.directory, names.journal, &status, AT_SYMLINK_NOFOLLOW) == 0;
	place_leave(&place);
	if (!there)
		return 0;
	int error = incoming_open(incoming, root, direct);
	return error != 0 ? error : claims_read(incoming, claimed);
}

int incoming_open(struct incoming *incoming, int root, enum direct_policy direct)
{
	int error = files_open(incoming, root);
	/* What an earlier try left beyond its journal is written over, or becomes a hole. */
	if (error == 0 && ftruncate(incoming->fd, (off_t)incoming->entry.size) != 0)
		error = errno;
	if (error != 0) {
		incoming_close(incoming);
		return error;
	}
	incoming->direct = direct_apply(incoming->fd, incoming->entry.size, direct, false);
	incoming->state = INCOMING_OPEN;
	return 0;
}

static int zeros_write(const struct incoming *incoming, uint64_t offset, uint32_t bytes)
{
	static const uint8_t zeros[FILE_BLOCK_BYTES] __attribute__((aligned(4096)));
	if (fallocate(incoming->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		      bytes) == 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return errno;
	return pwrite_all(incoming->fd, zeros, incoming->direct ? FILE_BLOCK_BYTES : bytes, offset);
}

static int data_write(const struct incoming *incoming, uint64_t offset, uint32_t bytes,
		      uint8_t *buffer)
{
	size_t count = bytes;
	if (incoming->direct && bytes % DIRECT_ALIGNMENT != 0) {
		/* Direct I/O takes whole sectors; the finish cuts the file to its size. */
		count = (bytes / DIRECT_ALIGNMENT + 1) * DIRECT_ALIGNMENT;
		memset(buffer + bytes, 0, count - bytes);
	}
	return pwrite_all(incoming->fd, buffer, count, offset);
}

int incoming_write(struct incoming *incoming, uint32_t block, void *buffer,
		   const struct checksum *checksum)
{
	const struct journal_claim claim = {.block = block, .checksum = *checksum};
	uint64_t offset = (uint64_t)block * FILE_BLOCK_BYTES;
	uint32_t bytes = file_block_bytes(incoming->entry.size, block);
	int error = buffer != NULL ? data_write(incoming, offset, bytes, buffer)
				   : zeros_write(incoming, offset, bytes);
	if (error != 0 || incoming->journal.fd < 0)
		return error;
	return journal_append(&incoming->journal, &claim);
}

int incoming_finish(struct incoming *incoming, bool sync)
{
	struct partial_names names;
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, incoming->entry.mtime};
	const struct place *place = &incoming->place;
	partial_names_make(place->name, &names);
	/* Direct I/O wrote whole sectors. */
	if ((incoming->direct && ftruncate(incoming->fd, (off_t)incoming->entry.size) != 0) ||
	    fchmod(incoming->fd, incoming->entry.mode) != 0 || futimens(incoming->fd, times) != 0)
		return errno;
	/* Data, mode and times are on the disk before the name says that they are. */
	if (sync && fsync(incoming->fd) != 0)
		return errno;
	if (renameat(place->directory, names.partial, place->directory, place->name) != 0)
		return errno;
	if (incoming->journal.fd >= 0 && unlinkat(place->directory, names.journal, 0) != 0 &&
	    errno != ENOENT)
		return errno;
	return 0;
}
