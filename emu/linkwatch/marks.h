// How many packets a qdisc has marked instead of dropping (ECN), from its own statistics.
#pragma once

#include <libmnl/libmnl.h>
#include <stdint.h>

// The count in TCA_STATS_APP of a qdisc of this kind; 0 for kinds that never mark.
uint32_t marks_of(const char *kind, const struct nlattr *statistics);
