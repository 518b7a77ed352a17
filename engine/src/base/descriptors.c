#include "base/descriptors.h"

#include <limits.h>
#include <sys/resource.h>

void descriptors_raise(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

unsigned descriptors_limit(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < INT_MAX
		   ? (unsigned)limit.rlim_cur
		   : INT_MAX;
}
