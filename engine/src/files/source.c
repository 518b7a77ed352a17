#include "files/source.h"

#include "base/clock.h"
#include "base/pread_all.h"
#include "files/incoming.h"
#include "files/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

void file_source_close(struct file_source *source)
{
	if (source->fd >= 0)
		(void)close(source->fd);
	source->fd = -1;
}

static int unchanged(const struct file_source *source, const struct outgoing *outgoing,
		     struct failure *failure)
{
	struct stat status;
	const struct file_entry *entry = &outgoing->entry;
	if (fstat(source->fd, &status) != 0)
		return failure_set_errno(failure, errno, "the source cannot be read");
	if (status.st_dev != outgoing->device || status.st_ino != outgoing->inode)
		return failure_set(failure, "the source was replaced by another file meanwhile");
	if ((uint64_t)status.st_size != entry->size)
		return failure_set(failure,
				   "the source changed meanwhile: it had %llu bytes, now %lld",
				   (unsigned long long)entry->size, (long long)status.st_size);
	if (!clock_equal(&status.st_mtim, &entry->mtime) ||
	    !clock_equal(&status.st_ctim, &entry->ctime))
		return failure_set(failure, "the source changed meanwhile");
	if (status.st_nlink == 0)
		return failure_set(failure, "the source was removed meanwhile");
	return 0;
}

static int source_fd_open(int root, const char *path, int *fd)
{
	if (root >= 0)
		return root_file(root, path, fd);
	*fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return *fd >= 0 ? 0 : errno;
}

int file_source_open(struct file_source *source, const struct outgoing *outgoing, uint32_t entry,
		     enum direct_policy direct, struct failure *failure)
{
	char path[PATH_MAX];
	if (source->fd >= 0 && source->entry == entry)
		return 0;
	file_source_close(source);
	if (!outgoing_source(outgoing, path, sizeof(path)))
		return failure_set(failure, "the source's path is too long");
	int error = source_fd_open(outgoing->root, path, &source->fd);
	if (error != 0)
		return failure_set_errno(failure, error, "the source cannot be opened");
	source->entry = entry;
	source->direct = false;
	if (unchanged(source, outgoing, failure) != 0)
		return -1;
	source->direct = direct_apply(source->fd, outgoing->entry.size, direct, true);
	/* Advice only. */
	if (!source->direct)
		(void)posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 0;
}

static bool is_hole(const struct file_source *source, uint64_t offset, uint32_t bytes)
{
	off_t data = lseek(source->fd, (off_t)offset, SEEK_DATA);
	if (data < 0)
		return errno == ENXIO; /* no data up to the end */
	return (uint64_t)data >= offset + bytes;
}

static int bytes_read(const struct file_source *source, uint8_t *buffer, uint32_t bytes,
		      uint64_t offset, struct failure *failure)
{
	size_t asked = source->direct ? FILE_BLOCK_BYTES : bytes;
	ssize_t got = pread_all(source->fd, buffer, bytes, asked, offset);
	if (got < 0)
		return failure_set_errno(failure, errno, "the source cannot be read");
	if ((size_t)got < bytes)
		return failure_set(failure, "the source became shorter meanwhile");
	return 0;
}

int file_source_read(const struct file_source *source, const struct outgoing *outgoing,
		     uint32_t block, void *buffer, bool *zero, struct failure *failure)
{
	uint64_t offset = (uint64_t)block * FILE_BLOCK_BYTES;
	uint32_t bytes = file_block_bytes(outgoing->entry.size, block);
	*zero = outgoing->sparse && is_hole(source, offset, bytes);
	if (!*zero && bytes_read(source, buffer, bytes, offset, failure) != 0)
		return -1;
	return unchanged(source, outgoing, failure);
}
