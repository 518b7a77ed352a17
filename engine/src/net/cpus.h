/* Processors for the streams' threads. */
#pragma once

#include "base/failure.h"
#include "net/route.h"

#include <stdbool.h>
#include <stddef.h>

#define CPUS_MAX 1024

struct cpus {
	unsigned count; /* 0: wherever the system puts them */
	unsigned short number[CPUS_MAX];
};

/* "0-3,8": in that order, each once. False when it is not a list. */
bool cpus_parse(const char *text, struct cpus *cpus);

/*
 * What --affinity asks for: NULL, a list, or "auto": those near the route's device that this
 * process may use. `why` gets what was taken and the reason. -1 when a processor of the list may
 * not be used.
 */
int cpus_choose(const char *asked, const struct route *route, struct cpus *cpus, char *why,
		size_t size, struct failure *failure);
