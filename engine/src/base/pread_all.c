#include "base/pread_all.h"

#include <errno.h>
#include <unistd.h>

int pwrite_all(int fd, const uint8_t *bytes, size_t count, uint64_t offset)
{
	while (count > 0) {
		ssize_t written = pwrite(fd, bytes, count, (off_t)offset);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? errno : EIO;
		bytes += written;
		count -= (size_t)written;
		offset += (uint64_t)written;
	}
	return 0;
}

ssize_t pread_all(int fd, uint8_t *bytes, size_t wanted, size_t asked, uint64_t offset)
{
	size_t used = 0;
	while (used < wanted) {
		ssize_t got = pread(fd, bytes + used, asked - used, (off_t)(offset + used));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}
