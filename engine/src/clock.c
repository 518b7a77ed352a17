#include "clock.h"

#include <sys/prctl.h>

static uint64_t clock_read_ns(clockid_t id)
{
	struct timespec now;
	/* Cannot fail: both clocks exist on every Linux. */
	(void)clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_unix_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

uint64_t clock_thread_cpu_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S),
				 .tv_nsec = (long)(ns % NS_PER_S)};
}

void clock_make_exact(void)
{
	/* Best effort: with the default slack samples come late, nothing breaks. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}
