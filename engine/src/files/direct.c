#include "files/direct.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/vfs.h>

/* Below it the cache wins: it takes the file without waiting for the disk. */
#define LARGE_BYTES (UINT64_C(64) << 20)
#define PROBES      16

const char *direct_policy_name(enum direct_policy policy)
{
	static const char *const names[] = {
	    [DIRECT_AUTO] = "auto", [DIRECT_ON] = "on", [DIRECT_OFF] = "off"};
	return names[policy];
}

bool direct_policy_parse(const char *name, enum direct_policy *policy)
{
	for (enum direct_policy known = DIRECT_AUTO; known <= DIRECT_OFF; known++) {
		if (strcmp(name, direct_policy_name(known)) == 0) {
			*policy = known;
			return true;
		}
	}
	return false;
}

/* tmpfs takes the flag and has nothing but the cache. */
static bool is_in_memory(int fd)
{
	struct statfs status;
	return fstatfs(fd, &status) == 0 && status.f_type == TMPFS_MAGIC;
}

/* Of some places over the file, are most in the page cache? */
static bool is_cached(int fd, uint64_t file_size)
{
	unsigned cached = 0;
	for (unsigned i = 0; i < PROBES; i++) {
		char byte;
		struct iovec one = {.iov_base = &byte, .iov_len = 1};
		off_t offset = (off_t)(file_size / PROBES * i);
		cached += preadv2(fd, &one, 1, offset, RWF_NOWAIT) == 1 ? 1 : 0;
	}
	return cached > PROBES / 2;
}

bool direct_apply(int fd, uint64_t file_size, enum direct_policy policy, bool for_reading)
{
	if (policy == DIRECT_OFF)
		return false;
	if (policy == DIRECT_AUTO && (file_size < LARGE_BYTES || is_in_memory(fd) ||
				      (for_reading && is_cached(fd, file_size))))
		return false;
	int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
}
