/* What the whole host did meanwhile: processors, interrupts, cycles. */
#pragma once

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

enum cycles_source {
	CYCLES_UNKNOWN,
	CYCLES_HOST,      /* counted on all processors (perf_event_open) */
	CYCLES_PROCESS,   /* counted for this process, its kernel side included */
	CYCLES_ESTIMATED, /* busy time of all processors times their clock rate */
};

struct host_usage {
	uint64_t elapsed_ns;
	uint64_t cpu_busy_ns; /* over all processors, in steps of 10 ms */
	uint64_t cpu_total_ns;
	uint64_t interrupts;
	uint64_t cycles;
	enum cycles_source cycles_source;
};

struct host_meter;

/* Before threads start: counters of the process follow only those that come after. Never NULL. */
struct host_meter *host_meter_start(void);
/* What happened since; releases the meter. */
void host_meter_stop(struct host_meter *meter, struct host_usage *usage);

/* Share of all processors that were busy, 0 to 100; negative when unknown. */
double host_cpu_percent(const struct host_usage *usage);
/* Negative when unknown. */
double host_cycles_per_byte(const struct host_usage *usage, uint64_t bytes);
const char *cycles_source_name(enum cycles_source source);

/* As it travels in MESSAGE_RESULT. */
cJSON *host_usage_encode(const struct host_usage *usage);
bool host_usage_decode(const cJSON *object, struct host_usage *usage);
/* As users read it; `bytes` is what was moved meanwhile. */
cJSON *host_usage_json(const struct host_usage *usage, uint64_t bytes);
