#include "files/root.h"

#include "base/hex.h"
#include "files/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONFINED (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static int beneath_open(int root, const char *path, int flags, unsigned resolve, int *fd)
{
	struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC), .resolve = resolve};
	long status;
	do {
		/* EAGAIN: something was renamed meanwhile, and the kernel is not sure. */
		status = syscall(SYS_openat2, root, path, &how, sizeof(how));
	} while (status < 0 && (errno == EINTR || errno == EAGAIN));
	if (status < 0)
		return errno;
	*fd = (int)status;
	return 0;
}

static int confined_open(int root, const char *path, int flags, int *fd)
{
	return beneath_open(root, path, flags, CONFINED, fd);
}

int root_open(const char *option, const char *directory, struct failure *failure)
{
	int probe = -1;
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return failure_set_errno(failure, errno, "--%s '%s'", option, directory);
	int error = confined_open(fd, ".", O_RDONLY | O_DIRECTORY, &probe);
	if (error == ENOSYS || error == EPERM)
		(void)failure_set_errno(failure, error, "--%s needs openat2(2) of Linux 5.6",
					option);
	else if (error != 0)
		(void)failure_set_errno(failure, error, "--%s '%s'", option, directory);
	if (error != 0) {
		(void)close(fd);
		return -1;
	}
	(void)close(probe);
	return fd;
}

int root_directory(int root, const char *path, int *fd)
{
	return confined_open(root, path, O_RDONLY | O_DIRECTORY, fd);
}

int root_file(int root, const char *path, int *fd)
{
	return confined_open(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, fd);
}

int root_place(int root, const char *path, struct place *place)
{
	char parent[FILE_PATH_BYTES + 1];
	const char *slash = strrchr(path, '/');
	place->directory = -1;
	place->name = slash != NULL ? slash + 1 : path;
	if (slash == NULL)
		return root_directory(root, ".", &place->directory);
	size_t length = (size_t)(slash - path);
	memcpy(parent, path, length);
	parent[length] = '\0';
	return root_directory(root, parent, &place->directory);
}

int root_target_check(int root, const char *path, const char *target)
{
	int fd = -1;
	char joined[FILE_PATH_BYTES + FILE_TARGET_BYTES + 1];
	const char *slash = strrchr(path, '/');
	int parent = slash != NULL ? (int)(slash - path) + 1 : 0;
	(void)snprintf(joined, sizeof(joined), "%.*s%s", parent, path, target);
	int error =
	    beneath_open(root, joined, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, &fd);
	if (error == 0)
		(void)close(fd);
	return error == ENOENT || error == ENOTDIR || error == ELOOP ? 0 : error;
}

void place_leave(struct place *place)
{
	if (place->directory >= 0)
		(void)close(place->directory);
	place->directory = -1;
}

int place_make_directory(const struct place *place)
{
	int fd = -1;
	struct stat status;
	if (mkdirat(place->directory, place->name, 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return errno;
	int error = confined_open(place->directory, place->name, O_RDONLY | O_DIRECTORY, &fd);
	if (error != 0)
		return error == ELOOP ? ENOTDIR : error;
	error = fstat(fd, &status) == 0 ? 0 : errno;
	/* Its own mode comes at the end; until then files must get into it. */
	if (error == 0 && (status.st_mode & 0700) != 0700)
		error = fchmod(fd, (status.st_mode & 0777) | 0700) == 0 ? 0 : errno;
	(void)close(fd);
	return error;
}

static int file_open(int directory, const char *name, int flags, int *fd)
{
	*fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
	return *fd < 0 ? errno : 0;
}

int place_open_file(const struct place *place, const char *name, int extra_flags, int *fd,
		    struct stat *status)
{
	int error = file_open(place->directory, name, extra_flags, fd);
	if (error == 0) {
		if (fstat(*fd, status) == 0 && S_ISREG(status->st_mode) && status->st_nlink == 1)
			return 0;
		(void)close(*fd);
		*fd = -1;
	}
	if (error == EINVAL) /* no direct I/O here; the file itself may be fine */
		return error;
	/* Nothing, or a link, a pipe, a file with a second name: out of the way with it. */
	if (unlinkat(place->directory, name, 0) != 0 && errno != ENOENT)
		return errno;
	error = file_open(place->directory, name, O_CREAT | O_EXCL | extra_flags, fd);
	if (error == 0 && fstat(*fd, status) != 0) {
		error = errno;
		(void)close(*fd);
		*fd = -1;
	}
	return error;
}

int place_make_link(const struct place *place, const char *target)
{
	char found[FILE_TARGET_BYTES + 1];
	if (symlinkat(target, place->directory, place->name) == 0)
		return 0;
	if (errno != EEXIST)
		return errno;
	ssize_t length = readlinkat(place->directory, place->name, found, sizeof(found));
	if (length >= 0 && (size_t)length == strlen(target) &&
	    memcmp(found, target, (size_t)length) == 0)
		return 0;
	if (unlinkat(place->directory, place->name, 0) != 0 ||
	    symlinkat(target, place->directory, place->name) != 0)
		return errno;
	return 0;
}

int place_status(const struct place *place, struct stat *status)
{
	return fstatat(place->directory, place->name, status, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

void partial_names_make(const char *name, struct partial_names *names)
{
	char hex[2 * CHECKSUM_BYTES + 1];
	if (strlen(name) + sizeof("." PARTIAL_SUFFIX) <= FILE_NAME_BYTES) {
		(void)snprintf(names->partial, sizeof(names->partial), ".%s" PARTIAL_SUFFIX, name);
		(void)snprintf(names->journal, sizeof(names->journal), ".%s" JOURNAL_SUFFIX, name);
		return;
	}
	/* Too long for an addition: its hash instead, with endings of their own. */
	struct checksum checksum = checksum_of(name, strlen(name));
	hex_encode(checksum.bytes, CHECKSUM_BYTES, hex);
	(void)snprintf(names->partial, sizeof(names->partial), ".%s" PARTIAL_LONG_SUFFIX, hex);
	(void)snprintf(names->journal, sizeof(names->journal), ".%s" JOURNAL_LONG_SUFFIX, hex);
}
