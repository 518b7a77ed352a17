#include "base/usage.h"

#include "base/clock.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_usec * NS_PER_US;
}

void cpu_usage_read(struct cpu_usage *usage)
{
	struct rusage resources = {0};
	/* Cannot fail for RUSAGE_SELF; zeros would be reported. */
	(void)getrusage(RUSAGE_SELF, &resources);
	usage->user_ns = timeval_ns(&resources.ru_utime);
	usage->system_ns = timeval_ns(&resources.ru_stime);
}

bool process_may(unsigned capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	return syscall(SYS_capget, &header, data) == 0 &&
	       (data[capability / 32].effective >> capability % 32 & 1U) != 0;
}

struct cpu_usage cpu_usage_since(const struct cpu_usage *start)
{
	struct cpu_usage now;
	cpu_usage_read(&now);
	return (struct cpu_usage){.user_ns = now.user_ns - start->user_ns,
				  .system_ns = now.system_ns - start->system_ns};
}
