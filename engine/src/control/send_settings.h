/* How a server shall send, as the client asks it: what `send` takes as options of its own host. */
#pragma once

#include "base/failure.h"
#include "base/json.h"
#include "payload/sending.h"

#include <stdint.h>

#define SEND_SETTINGS_CONGESTION_BYTES 256
/* No code point was asked for: they end at 63. */
#define DSCP_NONE 64

struct send_settings {
	char congestion[SEND_SETTINGS_CONGESTION_BYTES]; /* a list; empty: the system's */
	enum send_method send_method;
	uint64_t pacing_bps;       /* of each stream; 0: none */
	uint64_t pacing_total_bps; /* of all together; 0: none */
	uint64_t notsent_bytes;    /* 0: the system's */
	uint64_t stagger_ns;
	unsigned dscp; /* DSCP_NONE: the system's */
};

/* A member of a request. */
cJSON *send_settings_encode(const struct send_settings *settings);
/* NULL, where nothing is wished: the defaults. -1 with the failure set. */
int send_settings_decode(const cJSON *object, struct send_settings *settings,
			 struct failure *failure);
