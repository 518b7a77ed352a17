/*
 * Writes down what a program does to files and directories, for losing_disk.py, which says what a
 * disk may have of it after a crash. LD_PRELOAD; DISK_LOG names the log. A record is a struct entry
 * in the machine's order, then its names or bytes. What is written down is done in that order.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct entry {
	char kind[8];
	uint64_t node;  /* the inode: of a file, or the directory of the name */
	uint64_t other; /* an offset or size; the inode that the name is of, or moves to */
	uint64_t count; /* of what a punch takes */
	uint64_t first; /* bytes that follow */
	uint64_t second;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static uint64_t node_of(int fd)
{
	struct stat status;
	return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

static uint64_t node_at(int directory, const char *name)
{
	struct stat status;
	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_ino : 0;
}

static void note(const char *kind, struct entry entry, const void *first, const void *second)
{
	int error = errno;
	const char *path = getenv("DISK_LOG");
	if (log_fd < 0 && path != NULL)
		log_fd = (int)NEXT(syscall)(SYS_openat, AT_FDCWD, path,
					    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	strncpy(entry.kind, kind, sizeof(entry.kind));
	const struct iovec parts[] = {
	    {&entry, sizeof(entry)}, {(void *)first, entry.first}, {(void *)second, entry.second}};
	if (log_fd >= 0 &&
	    writev(log_fd, parts, 3) != (ssize_t)(sizeof(entry) + entry.first + entry.second))
		abort();
	errno = error;
}

/* Done and written down, with nothing between. */
#define DO(type, call, good, kind, ...)                                                            \
	do {                                                                                       \
		(void)pthread_mutex_lock(&mutex);                                                  \
		type status = (call);                                                              \
		if (good)                                                                          \
			note(kind, __VA_ARGS__);                                                   \
		(void)pthread_mutex_unlock(&mutex);                                                \
		return status;                                                                     \
	} while (0)

#define ENTRY(...) ((struct entry){__VA_ARGS__})

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
	DO(ssize_t, NEXT(pwrite64)(fd, bytes, count, offset), status > 0, "write",
	   ENTRY(.node = node_of(fd), .other = (uint64_t)offset, .first = (uint64_t)status), bytes,
	   NULL);
}

int ftruncate64(int fd, off64_t size)
{
	DO(int, NEXT(ftruncate64)(fd, size), status == 0, "size",
	   ENTRY(.node = node_of(fd), .other = (uint64_t)size), NULL, NULL);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t count)
{
	DO(int, NEXT(fallocate64)(fd, mode, offset, count), status == 0, "punch",
	   ENTRY(.node = node_of(fd), .other = (uint64_t)offset, .count = (uint64_t)count), NULL,
	   NULL);
}

int fsync(int fd)
{
	DO(int, NEXT(fsync)(fd), status == 0, "sync", ENTRY(.node = node_of(fd)), NULL, NULL);
}

int futimens(int fd, const struct timespec times[2])
{
	DO(int, NEXT(futimens)(fd, times), status == 0, "time",
	   ENTRY(.node = node_of(fd),
		 .other = (uint64_t)times[1].tv_sec * 1000000000 + (uint64_t)times[1].tv_nsec),
	   NULL, NULL);
}

int renameat(int from, const char *name, int to, const char *target)
{
	DO(int, NEXT(renameat)(from, name, to, target), status == 0, "rename",
	   ENTRY(.node = node_of(from), .other = node_of(to), .first = strlen(name),
		 .second = strlen(target)),
	   name, target);
}

int unlinkat(int directory, const char *name, int flags)
{
	DO(int, NEXT(unlinkat)(directory, name, flags), status == 0, "unlink",
	   ENTRY(.node = node_of(directory), .first = strlen(name)), name, NULL);
}

int mkdirat(int directory, const char *name, mode_t mode)
{
	DO(int, NEXT(mkdirat)(directory, name, mode), status == 0, "folder",
	   ENTRY(.node = node_of(directory), .other = node_at(directory, name),
		 .first = strlen(name)),
	   name, NULL);
}

int symlinkat(const char *target, int directory, const char *name)
{
	DO(int, NEXT(symlinkat)(target, directory, name), status == 0, "link",
	   ENTRY(.node = node_of(directory), .first = strlen(name), .second = strlen(target)), name,
	   target);
}

/* Of a file that is not there yet. */
int openat64(int directory, const char *name, int flags, ...)
{
	va_list list;
	va_start(list, flags);
	mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
	va_end(list);
	if ((flags & O_CREAT) == 0 || node_at(directory, name) != 0)
		return NEXT(openat64)(directory, name, flags, mode);
	DO(int, NEXT(openat64)(directory, name, flags, mode), status >= 0, "file",
	   ENTRY(.node = node_of(directory), .other = node_of(status), .first = strlen(name)), name,
	   NULL);
}
