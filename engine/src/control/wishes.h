/* How a server shall send, as the client asks it: what `send` takes as options of its own host. */
#ifndef LANDSPEED_CONTROL_WISHES_H
#define LANDSPEED_CONTROL_WISHES_H

#include "base/failure.h"
#include "base/json.h"
#include "payload/sending.h"

#include <stdint.h>

#define WISHES_CONGESTION_BYTES 256
/* No code point was asked for: they end at 63. */
#define DSCP_NONE 64

struct wishes {
	char congestion[WISHES_CONGESTION_BYTES]; /* a list; empty: the system's */
	enum send_way send_way;
	uint64_t pacing_bps;       /* of each stream; 0: none */
	uint64_t pacing_total_bps; /* of all together; 0: none */
	uint64_t notsent_bytes;    /* 0: the system's */
	uint64_t stagger_ns;
	unsigned dscp; /* DSCP_NONE: the system's */
};

/* A member of a request. */
cJSON *wishes_encode(const struct wishes *wishes);
/* NULL, where nothing is wished: the defaults. -1 with the failure set. */
int wishes_decode(const cJSON *object, struct wishes *wishes, struct failure *failure);

#endif
