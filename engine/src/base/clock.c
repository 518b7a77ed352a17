#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

bool clock_equal(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

void clock_make_exact(void)
{
	/* Best effort: with the default slack samples come late, nothing breaks. */
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

void clock_name(char *name, size_t size)
{
	char text[64] = "";
	size_t used = 0;
	/* Of the boot: a kernel has one real-time clock, whatever the namespace. */
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (file != NULL && fgets(text, sizeof(text), file) == NULL)
		text[0] = '\0';
	if (file != NULL)
		(void)fclose(file);
	for (const char *at = text; *at != '\0' && *at != '\n' && used + 1 < size; at++) {
		if (*at != '-')
			name[used++] = *at;
	}
	name[used] = '\0';
}

void clock_wait_if_asked(void)
{
	const char *asked = getenv("LANDSPEED_WHOLE_SECOND");
	if (asked == NULL)
		return;
	const uint64_t seconds = strtoull(asked, NULL, 10);
	const struct timespec at =
	    clock_timespec((clock_monotonic_ns() / NS_PER_S + seconds) * NS_PER_S);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
	}
}
