/* The control connection: whole messages over one TCP socket that never blocks. */
#pragma once

#include "base/failure.h"
#include "control/auth.h"
#include "control/message.h"
#include "protect/protect.h"

#define TRUST_BYTES 12

enum control_status {
	CONTROL_MESSAGE, /* *message and *type are set; the caller deletes the message */
	CONTROL_PENDING, /* nothing whole is there yet */
	CONTROL_CLOSED,  /* the peer has gone; the failure says how */
	CONTROL_INVALID, /* what came is no message; the failure says why */
};

struct control;

/* Takes over a connected socket, also when it fails (NULL). */
struct control *control_create(int fd, struct failure *failure);
void control_destroy(struct control *control);
int control_fd(const struct control *control);

/* A peer of which nothing is heard is not given up within this: 30 s, and minutes where we wait. */
int control_await(struct control *control, uint64_t patience_ns, struct failure *failure);
/*
 * Data move beside this connection from now on, and say whether the peer is there (--stall). Where
 * their acknowledgments fill a thin way back, no answer to a probe may come for as long as they do.
 */
int control_rest(struct control *control, struct failure *failure);

/* At the client, before anything is read: the server's challenge comes before its frames. */
void control_expect_challenge(struct control *control);
/* What was read of the connection before it was known to be one of control. */
int control_feed(struct control *control, const void *bytes, size_t count, struct failure *failure);
/* Large frames are for peers that are known: small ones only until `known` is true. */
void control_trust(struct control *control, bool known);
/* Messages may have that many bytes from now on. */
void control_limit(struct control *control, uint32_t bytes);
/* From now on frames carry tags, if the channel has keys; copies it. */
int control_secure(struct control *control, const struct auth_channel *channel,
		   struct failure *failure);
/* In a new process, which goes on with the connection: its keys are locked there, too. */
void control_inherit(struct control *control);
/* The session's secret as the key makes it; NULL where there is no key. */
const uint8_t *control_secret(const struct control *control);

/*
 * Names the trust in what comes with that protection: the same again only for the same mode under
 * the same pre-shared key. Zeros for PROTECT_NONE, and where there is no key.
 */
void control_name_trust(const struct control *control, enum protect_mode mode,
			uint8_t name[TRUST_BYTES]);

/* Sends and deletes the message. */
int control_send(struct control *control, cJSON *message, struct failure *failure);

/* Call when the socket is readable, until it says CONTROL_PENDING. */
enum control_status control_take(struct control *control, cJSON **message, enum message_type *type,
				 struct failure *failure);
