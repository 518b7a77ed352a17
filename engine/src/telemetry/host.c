#include "telemetry/host.h"

#include "base/clock.h"
#include "telemetry/perf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct counters {
	uint64_t at_ns;
	uint64_t busy_ticks;
	uint64_t total_ticks;
	uint64_t interrupts;
};

struct host_meter {
	struct perf *perf;
	struct counters start;
};

static const char *const source_names[] = {
    [CYCLES_UNKNOWN] = "unknown",
    [CYCLES_HOST] = "host",
    [CYCLES_PROCESS] = "process",
    [CYCLES_ESTIMATED] = "estimated",
};

#define SOURCE_COUNT (sizeof(source_names) / sizeof(source_names[0]))

const char *cycles_source_name(enum cycles_source source)
{
	return source_names[source];
}

/* Next number of the line; 0 at its end. */
static uint64_t number_next(char **at)
{
	char *end;
	uint64_t value = strtoull(*at, &end, 10);
	*at = end;
	return value;
}

/* user nice system idle iowait irq softirq steal; guests are in user and nice (proc(5)) */
static void cpu_line_read(char *at, struct counters *counters)
{
	for (unsigned column = 0; column < 8; column++) {
		uint64_t ticks = number_next(&at);
		counters->total_ticks += ticks;
		if (column != 3 && column != 4)
			counters->busy_ticks += ticks;
	}
}

static void counters_read(struct counters *counters)
{
	char *line = NULL;
	size_t size = 0;
	*counters = (struct counters){.at_ns = clock_monotonic_ns()};
	FILE *file = fopen("/proc/stat", "re");
	if (file == NULL)
		return;
	/* The line of interrupts is as long as the machine has numbers for them. */
	while (getline(&line, &size, file) > 0) {
		char *at = line;
		if (strncmp(line, "cpu ", 4) == 0) {
			cpu_line_read(line + 4, counters);
		} else if (strncmp(line, "intr ", 5) == 0) {
			at += 5;
			counters->interrupts = number_next(&at);
		}
	}
	free(line);
	(void)fclose(file);
}

/* Mean clock rate of the processors, or 0 when the kernel does not tell. */
static double clock_rate_hz(void)
{
	char line[256];
	double sum = 0.0;
	unsigned count = 0;
	FILE *file = fopen("/proc/cpuinfo", "re");
	if (file == NULL)
		return 0.0;
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *colon = strchr(line, ':');
		if (strncmp(line, "cpu MHz", 7) == 0 && colon != NULL) {
			sum += strtod(colon + 1, NULL);
			count++;
		}
	}
	(void)fclose(file);
	return count != 0 ? sum / count * 1e6 : 0.0;
}

struct host_meter *host_meter_start(void)
{
	struct host_meter *meter = calloc(1, sizeof(*meter));
	if (meter == NULL)
		return NULL;
	meter->perf = perf_open();
	counters_read(&meter->start);
	return meter;
}

static void cycles_take(const struct host_meter *meter, struct host_usage *usage)
{
	if (meter->perf != NULL && perf_read(meter->perf, &usage->cycles)) {
		usage->cycles_source = perf_source(meter->perf);
		return;
	}
	double rate_hz = clock_rate_hz();
	if (rate_hz <= 0.0)
		return;
	usage->cycles = (uint64_t)((double)usage->cpu_busy_ns / 1e9 * rate_hz);
	usage->cycles_source = CYCLES_ESTIMATED;
}

void host_meter_stop(struct host_meter *meter, struct host_usage *usage)
{
	struct counters now;
	*usage = (struct host_usage){0};
	if (meter == NULL)
		return;
	counters_read(&now);
	long ticks_per_s = sysconf(_SC_CLK_TCK);
	uint64_t tick_ns = ticks_per_s > 0 ? NS_PER_S / (uint64_t)ticks_per_s : 0;
	usage->elapsed_ns = now.at_ns - meter->start.at_ns;
	/* The kernel's sums may step back by a tick when a processor's idle time is corrected. */
	if (now.total_ticks > meter->start.total_ticks)
		usage->cpu_total_ns = (now.total_ticks - meter->start.total_ticks) * tick_ns;
	if (now.busy_ticks > meter->start.busy_ticks)
		usage->cpu_busy_ns = (now.busy_ticks - meter->start.busy_ticks) * tick_ns;
	if (now.interrupts > meter->start.interrupts)
		usage->interrupts = now.interrupts - meter->start.interrupts;
	cycles_take(meter, usage);
	perf_close(meter->perf);
	free(meter);
}

double host_cpu_percent(const struct host_usage *usage)
{
	if (usage->cpu_total_ns == 0)
		return -1.0;
	double percent = (double)usage->cpu_busy_ns * 100.0 / (double)usage->cpu_total_ns;
	return percent < 100.0 ? percent : 100.0;
}

double host_cycles_per_byte(const struct host_usage *usage, uint64_t bytes)
{
	if (usage->cycles_source == CYCLES_UNKNOWN || bytes == 0)
		return -1.0;
	return (double)usage->cycles / (double)bytes;
}

cJSON *host_usage_encode(const struct host_usage *usage)
{
	cJSON *object = cJSON_CreateObject();
	json_add_u64(object, "elapsed_ns", usage->elapsed_ns);
	json_add_u64(object, "cpu_busy_ns", usage->cpu_busy_ns);
	json_add_u64(object, "cpu_total_ns", usage->cpu_total_ns);
	json_add_u64(object, "interrupts", usage->interrupts);
	json_add_u64(object, "cycles", usage->cycles);
	json_add_text(object, "cycles_source", source_names[usage->cycles_source]);
	return object;
}

bool host_usage_decode(const cJSON *object, struct host_usage *usage)
{
	const char *source = json_get_text(object, "cycles_source");
	*usage = (struct host_usage){0};
	if (!json_get_u64(object, "elapsed_ns", 0, JSON_INTEGER_MAX, &usage->elapsed_ns) ||
	    !json_get_u64(object, "cpu_busy_ns", 0, JSON_INTEGER_MAX, &usage->cpu_busy_ns) ||
	    !json_get_u64(object, "cpu_total_ns", 0, JSON_INTEGER_MAX, &usage->cpu_total_ns) ||
	    !json_get_u64(object, "interrupts", 0, JSON_INTEGER_MAX, &usage->interrupts) ||
	    !json_get_u64(object, "cycles", 0, JSON_INTEGER_MAX, &usage->cycles) || source == NULL)
		return false;
	for (size_t i = 0; i < SOURCE_COUNT; i++) {
		if (strcmp(source, source_names[i]) == 0) {
			usage->cycles_source = (enum cycles_source)i;
			return true;
		}
	}
	return false;
}

static void add_real(cJSON *object, const char *name, double value)
{
	char text[40];
	(void)snprintf(text, sizeof(text), "%.3f", value);
	if (value < 0.0)
		json_add_text(object, name, NULL);
	else
		(void)cJSON_AddRawToObject(object, name, text);
}

cJSON *host_usage_json(const struct host_usage *usage, uint64_t bytes)
{
	cJSON *object = cJSON_CreateObject();
	double elapsed_s = (double)usage->elapsed_ns / 1e9;
	bool known = usage->elapsed_ns != 0;
	json_add_seconds(object, "elapsed_s", usage->elapsed_ns);
	add_real(object, "cpu_percent", host_cpu_percent(usage));
	if (known)
		json_add_u64(object, "interrupts", usage->interrupts);
	else
		json_add_text(object, "interrupts", NULL);
	add_real(object, "interrupts_per_s", known ? (double)usage->interrupts / elapsed_s : -1.0);
	add_real(object, "cycles_per_byte", host_cycles_per_byte(usage, bytes));
	json_add_text(object, "cycles_source", source_names[usage->cycles_source]);
	return object;
}
