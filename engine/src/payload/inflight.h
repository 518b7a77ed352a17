/* Which calls still use which slot of a source; a slot is released when none does. No I/O. */
#pragma once

#include "payload/source.h"

struct inflight {
	struct source *source;
	uint32_t *slot_of_call; /* by number of the call, modulo the room; SOURCE_NO_SLOT: free */
	uint32_t *calls_of_slot;
	bool *closed_slot; /* no further call will use it */
	uint32_t mask;
};

/* Keeps nothing, and costs nothing, for a source without slots. 0 or a positive errno. */
int inflight_open(struct inflight *inflight, struct source *source);
void inflight_release(struct inflight *inflight);

/* False while call `call` would need the room of an older one that is not done. */
bool inflight_room(const struct inflight *inflight, uint32_t call);
/* Call number `call` has begun to use the slot. */
void inflight_call(struct inflight *inflight, uint32_t call, uint32_t slot);
/* The kernel is done with it. */
void inflight_done(struct inflight *inflight, uint32_t call);
/* The slot's last byte was handed over. */
void inflight_close_slot(struct inflight *inflight, uint32_t slot);
