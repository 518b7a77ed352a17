#include "base/descriptors.h"

#include "base/number.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

void descriptors_hold_standard(void)
{
	int fd;
	/* The lowest number that is free is what open() gives. */
	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);
}

void descriptors_raise(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* As it is now, INT_MAX at most. */
static unsigned descriptors_limit(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < INT_MAX
		   ? (unsigned)limit.rlim_cur
		   : INT_MAX;
}

/* For signals, timers, logs, keys and directories. */
#define OWN 16

unsigned descriptors_for_strangers(unsigned sessions)
{
	uint64_t left = number_above(descriptors_limit(), sessions / 2 + OWN);
	return left > OWN ? (unsigned)left : OWN;
}

unsigned descriptors_for_streams(unsigned sessions)
{
	uint64_t left = number_above(descriptors_limit(), 2 * OWN) / 3;
	return (unsigned)number_least(left > 0 ? left : 1, descriptors_for_strangers(sessions));
}

unsigned descriptors_for_files(void)
{
	return descriptors_limit() / 16;
}
