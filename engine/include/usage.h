/* Processor time of this process. */
#ifndef LANDSPEED_USAGE_H
#define LANDSPEED_USAGE_H

#include <stdint.h>

struct cpu_usage {
	uint64_t user_ns;
	uint64_t system_ns;
};

void cpu_usage_read(struct cpu_usage *usage);
/* What was used since `start`. */
struct cpu_usage cpu_usage_since(const struct cpu_usage *start);

#endif
