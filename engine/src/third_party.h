/* "Host A, send to host B": what crosses the control connection for it. */
#ifndef LANDSPEED_THIRD_PARTY_H
#define LANDSPEED_THIRD_PARTY_H

#include "message.h"
#include "server.h"

#define THIRD_PARTY_OPTIONS 24

/* Options of `send` that a client may give to host A: none that names a file there. */
extern const char *const third_party_forwarded[];

/* The words of a `send` command; texts are the message's. */
struct third_party {
	const char *host; /* B */
	uint16_t port;
	unsigned count;
	struct {
		const char *name;
		const char *value;
	} options[THIRD_PARTY_OPTIONS];
};

cJSON *third_party_encode(const struct third_party *order);
int third_party_decode(const cJSON *message, struct third_party *order, struct failure *failure);

/* At host A, in the process of the session: runs `send` and returns its result to the client. */
int third_party_serve(const struct session *session);

#endif
