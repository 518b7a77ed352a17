/* Processor time of this process, and what it may do. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cpu_usage {
	uint64_t user_ns;
	uint64_t system_ns;
};

void cpu_usage_read(struct cpu_usage *usage);
/* What was used since `start`. */
struct cpu_usage cpu_usage_since(const struct cpu_usage *start);

/* Has this process the capability (CAP_... of linux/capability.h) now? */
bool process_may(unsigned capability);
