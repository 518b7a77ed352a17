#include "net/cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool number_parse(const char **text, unsigned *number)
{
	char *end;
	if (**text < '0' || **text > '9')
		return false;
	unsigned long value = strtoul(*text, &end, 10);
	if (value >= CPUS_MAX)
		return false;
	*number = (unsigned)value;
	*text = end;
	return true;
}

static void cpu_add(struct cpus *cpus, unsigned number)
{
	for (unsigned i = 0; i < cpus->count; i++) {
		if (cpus->number[i] == number)
			return;
	}
	cpus->number[cpus->count++] = (unsigned short)number;
}

bool cpus_parse(const char *text, struct cpus *cpus)
{
	cpus->count = 0;
	for (;;) {
		unsigned first;
		if (!number_parse(&text, &first))
			return false;
		unsigned last = first;
		if (*text == '-') {
			text++;
			if (!number_parse(&text, &last) || last < first)
				return false;
		}
		for (unsigned number = first; number <= last; number++)
			cpu_add(cpus, number);
		if (*text == '\0')
			return true;
		if (*text++ != ',')
			return false;
	}
}

/* Those of `cpus` that this process may use. */
static struct cpus cpus_allowed(const struct cpus *cpus)
{
	cpu_set_t set;
	struct cpus allowed = {0};
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return *cpus;
	for (unsigned i = 0; i < cpus->count; i++) {
		if (CPU_ISSET(cpus->number[i], &set))
			cpu_add(&allowed, cpus->number[i]);
	}
	return allowed;
}

static void near_choose(const struct route *route, struct cpus *cpus, char *why, size_t size)
{
	struct cpus near;
	const char *device = route->device[0] != '\0' ? route->device : "unknown";
	if (!route->hardware || !cpus_parse(route->cpus, &near)) {
		(void)snprintf(why, size,
			       "left to the system: no processor is near device %s, which carries "
			       "the route",
			       device);
		return;
	}
	*cpus = cpus_allowed(&near);
	if (cpus->count == 0)
		(void)snprintf(why, size,
			       "left to the system: this process may use none of processors %s, "
			       "near device %s",
			       route->cpus, device);
	else if (route->numa_node >= 0)
		(void)snprintf(why, size,
			       "processors %s: NUMA node %d of device %s, which carries the route",
			       route->cpus, route->numa_node, device);
	else
		(void)snprintf(why, size,
			       "processors %s: all are equally near device %s, which carries the "
			       "route",
			       route->cpus, device);
}

int cpus_choose(const char *asked, const struct route *route, struct cpus *cpus, char *why,
		size_t size, struct failure *failure)
{
	cpus->count = 0;
	if (asked == NULL) {
		(void)snprintf(why, size, "left to the system");
		return 0;
	}
	if (strcmp(asked, "auto") == 0) {
		near_choose(route, cpus, why, size);
		return 0;
	}
	struct cpus list;
	if (!cpus_parse(asked, &list))
		return failure_set(failure, "--affinity: '%s' is no list of processors", asked);
	*cpus = cpus_allowed(&list);
	if (cpus->count != list.count)
		return failure_set(
		    failure, "--affinity: this process may not use all processors of '%s'", asked);
	(void)snprintf(why, size, "processors %s: asked for", asked);
	return 0;
}
