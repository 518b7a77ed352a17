/* When a transfer has come to rest. Pure: whoever has the clock and the count asks.
   The default of --stall stands in options/options.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stall {
	uint64_t limit_ns;
	uint64_t least;    /* of the count within the limit; 0: any */
	uint64_t moved;    /* at the last look that saw it grow */
	uint64_t moved_ns; /* its time */
};

void stall_start(struct stall *stall, uint64_t limit_ns, uint64_t moved, uint64_t now_ns);
/* What rests has a reason to: the limit begins anew. */
void stall_excuse(struct stall *stall, uint64_t now_ns);
/* Less than that rate of bytes is rest, too. */
void stall_demand(struct stall *stall, uint64_t rate_bps);
/* When to look next: four times within the limit, so that it ends after 1.25 of it at the latest.
 */
uint64_t stall_look_ns(const struct stall *stall, uint64_t now_ns);
/* True when nothing, or too little, has moved for the limit; `moved` is any count that grows with
 * what does. */
bool stall_look(struct stall *stall, uint64_t moved, uint64_t now_ns);
