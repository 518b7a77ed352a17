/* Progress: one JSON object per line and second. */
#ifndef LANDSPEED_LIVE_H
#define LANDSPEED_LIVE_H

#include "failure.h"

#include <stdint.h>

struct live;

/* "-" is standard output. NULL with the failure set. */
struct live *live_open(const char *path, struct failure *failure);
int live_write(struct live *live, uint64_t time_ns, uint64_t bytes, unsigned streams_open,
	       struct failure *failure);
int live_close(struct live *live, struct failure *failure);

#endif
