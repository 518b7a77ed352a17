#include "payload/inflight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A slot is usually handed over in one call; a short one makes it more. */
#define CALLS_PER_SLOT 4

int inflight_open(struct inflight *inflight, struct source *source)
{
	memset(inflight, 0, sizeof(*inflight));
	inflight->source = source;
	if (source->slots == 0)
		return 0;
	uint32_t room = 1;
	while (room < source->slots * CALLS_PER_SLOT)
		room *= 2;
	inflight->mask = room - 1;
	inflight->slot_of_call = malloc(room * sizeof(inflight->slot_of_call[0]));
	inflight->calls_of_slot = calloc(source->slots, sizeof(inflight->calls_of_slot[0]));
	inflight->closed_slot = calloc(source->slots, sizeof(inflight->closed_slot[0]));
	if (inflight->slot_of_call == NULL || inflight->calls_of_slot == NULL ||
	    inflight->closed_slot == NULL) {
		inflight_release(inflight);
		return ENOMEM;
	}
	for (uint32_t i = 0; i < room; i++)
		inflight->slot_of_call[i] = SOURCE_NO_SLOT;
	return 0;
}

void inflight_release(struct inflight *inflight)
{
	free(inflight->slot_of_call);
	free(inflight->calls_of_slot);
	free(inflight->closed_slot);
	memset(inflight, 0, sizeof(*inflight));
}

static bool keeps(const struct inflight *inflight)
{
	return inflight->slot_of_call != NULL;
}

bool inflight_room(const struct inflight *inflight, uint32_t call)
{
	return !keeps(inflight) || inflight->slot_of_call[call & inflight->mask] == SOURCE_NO_SLOT;
}

static void slot_settle(struct inflight *inflight, uint32_t slot)
{
	if (!inflight->closed_slot[slot] || inflight->calls_of_slot[slot] != 0)
		return;
	inflight->closed_slot[slot] = false;
	source_release(inflight->source, slot);
}

void inflight_call(struct inflight *inflight, uint32_t call, uint32_t slot)
{
	if (!keeps(inflight))
		return;
	inflight->slot_of_call[call & inflight->mask] = slot;
	inflight->calls_of_slot[slot]++;
}

void inflight_done(struct inflight *inflight, uint32_t call)
{
	if (!keeps(inflight))
		return;
	uint32_t *slot = &inflight->slot_of_call[call & inflight->mask];
	/* What the kernel says twice, or of no call of ours, must not free anything. */
	if (*slot == SOURCE_NO_SLOT)
		return;
	inflight->calls_of_slot[*slot]--;
	slot_settle(inflight, *slot);
	*slot = SOURCE_NO_SLOT;
}

void inflight_close_slot(struct inflight *inflight, uint32_t slot)
{
	if (!keeps(inflight))
		return;
	inflight->closed_slot[slot] = true;
	slot_settle(inflight, slot);
}
