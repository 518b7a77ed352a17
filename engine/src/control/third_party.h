/* "Host A, send to host B": what crosses the control connection for it. */
#pragma once

#include "control/message.h"

#define THIRD_PARTY_OPTIONS     48
#define THIRD_PARTY_VALUE_BYTES 256

/* An option of `send` that a client may give to host A; a list of them ends with a NULL name. */
struct third_party_option {
	const char *name;
	const char *argument; /* NULL: it takes none */
};

/* The words of a `send` command; texts are the message's. */
struct third_party {
	const char *host; /* B */
	uint16_t port;
	unsigned count;
	struct {
		const char *name;
		const char *value; /* NULL: the option takes none */
	} options[THIRD_PARTY_OPTIONS];
};

/* A value as its text, an option that takes none as true. */
cJSON *third_party_encode(const struct third_party *order);
int third_party_decode(const cJSON *message, const struct third_party_option *known,
		       struct third_party *order, struct failure *failure);
