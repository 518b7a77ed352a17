/*
 * A disk that fails or is slow, for a program that is started with this in LD_PRELOAD:
 * DISK_SYNC_ERROR=N: fsync(2) of a directory, or with DISK_SYNC_FILES of a file, fails with errno
 * N. DISK_SYNC_MS=N: fsync(2) takes that long at least. DISK_READ_MS=N: pread(2) of a whole block
 * takes that long at least, each thread by itself. DISK_WALK_MS=N: so does each name of a walk.
 * DISK_LOCK_GATE=FILE: flock(2) waits while FILE is there, once it has made FILE.reached: whoever
 * locks is caught between opening and locking.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of fts(3) with files beyond 2 GiB. */
struct _ftsent;
struct _fts;

#define BLOCK_BYTES (1 << 20)

static void take(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	if (ms != 0)
		(void)nanosleep(&time, NULL);
}

static long setting(const char *name)
{
	const char *value = getenv(name);
	return value != NULL ? atol(value) : 0;
}

int flock(int fd, int operation)
{
	char reached[4096];
	const char *gate = getenv("DISK_LOCK_GATE");
	int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
	if (gate != NULL && access(gate, F_OK) == 0) {
		(void)snprintf(reached, sizeof(reached), "%s.reached", gate);
		(void)close(open(reached, O_CREAT | O_CLOEXEC, 0600));
		while (access(gate, F_OK) == 0)
			take(1);
	}
	return next(fd, operation);
}

int fsync(int fd)
{
	struct stat status;
	take(setting("DISK_SYNC_MS"));
	bool files = setting("DISK_SYNC_FILES") != 0;
	int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
	if (setting("DISK_SYNC_ERROR") == 0 || fstat(fd, &status) != 0 ||
	    (bool)S_ISDIR(status.st_mode) == files)
		return next(fd);
	errno = (int)setting("DISK_SYNC_ERROR");
	return -1;
}

int fstatat64(int directory, const char *path, struct stat64 *status, int flags)
{
	int (*next)(int, const char *, struct stat64 *, int) =
	    (int (*)(int, const char *, struct stat64 *, int))dlsym(RTLD_NEXT, "fstatat64");
	take(setting("DISK_WALK_MS"));
	return next(directory, path, status, flags);
}

struct _ftsent *fts64_read(struct _fts *walk)
{
	struct _ftsent *(*next)(struct _fts *) =
	    (struct _ftsent * (*)(struct _fts *)) dlsym(RTLD_NEXT, "fts64_read");
	take(setting("DISK_WALK_MS"));
	return next(walk);
}

ssize_t pread64(int fd, void *buffer, size_t count, off64_t offset)
{
	ssize_t (*next)(int, void *, size_t, off64_t) =
	    (ssize_t(*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
	if (count == BLOCK_BYTES)
		take(setting("DISK_READ_MS"));
	return next(fd, buffer, count, offset);
}
