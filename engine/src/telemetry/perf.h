/* The processors' cycle counters, where the kernel lets us (perf_event_open). */
#pragma once

#include "telemetry/host.h"

struct perf;

/* Counters of all processors, else of this process; NULL when neither is allowed or there. */
struct perf *perf_open(void);
/* Cycles since perf_open; false when a counter could not be read or did not run all the time. */
bool perf_read(const struct perf *perf, uint64_t *cycles);
enum cycles_source perf_source(const struct perf *perf);
void perf_close(struct perf *perf);
