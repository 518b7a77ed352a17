#include "telemetry/perf.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct perf {
	enum cycles_source source;
	unsigned count;
	int fds[];
};

/* What read() gives with the format asked for below. */
struct reading {
	uint64_t value;
	uint64_t enabled_ns;
	uint64_t running_ns;
};

static int counter_open(pid_t pid, int cpu, bool inherit)
{
	struct perf_event_attr attributes = {
	    .type = PERF_TYPE_HARDWARE,
	    .size = sizeof(attributes),
	    .config = PERF_COUNT_HW_CPU_CYCLES,
	    .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	attributes.inherit = inherit ? 1U : 0U;
	/* glibc has no wrapper. */
	return (int)syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool counters_open(struct perf *perf, unsigned cpus)
{
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		int fd = counter_open(-1, (int)cpu, false);
		if (fd < 0)
			break;
		perf->fds[perf->count++] = fd;
	}
	perf->source = CYCLES_HOST;
	if (perf->count == cpus)
		return true;
	while (perf->count > 0)
		(void)close(perf->fds[--perf->count]);
	perf->source = CYCLES_PROCESS;
	perf->fds[0] = counter_open(0, -1, true);
	perf->count = perf->fds[0] >= 0 ? 1 : 0;
	return perf->count != 0;
}

struct perf *perf_open(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cpus = online > 0 ? (unsigned)online : 1;
	struct perf *perf = calloc(1, sizeof(*perf) + cpus * sizeof(perf->fds[0]));
	if (perf == NULL)
		return NULL;
	if (counters_open(perf, cpus))
		return perf;
	free(perf);
	return NULL;
}

bool perf_read(const struct perf *perf, uint64_t *cycles)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < perf->count; i++) {
		struct reading reading;
		if (read(perf->fds[i], &reading, sizeof(reading)) != (ssize_t)sizeof(reading) ||
		    reading.running_ns != reading.enabled_ns)
			return false;
		sum += reading.value;
	}
	*cycles = sum;
	return true;
}

enum cycles_source perf_source(const struct perf *perf)
{
	return perf->source;
}

void perf_close(struct perf *perf)
{
	if (perf == NULL)
		return;
	for (unsigned i = 0; i < perf->count; i++)
		(void)close(perf->fds[i]);
	free(perf);
}
