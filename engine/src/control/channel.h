/*
 * Between the server's loop and the process of a session: the one hands over the data connections
 * that say they are of the session, the other says how far it is. Its end is the end of either.
 */
#pragma once

#include "base/failure.h"
#include "control/hello.h"

#include <stdbool.h>
#include <stdint.h>

/* What the session says. */
enum channel_word {
	CHANNEL_GATHERED = 'g', /* all data connections are there: no more are wanted */
	CHANNEL_LEAVES = 'l',   /* it is over but for its farewell */
};

/* How a data connection began. Nobody has looked at the proof yet. */
struct handover {
	uint8_t nonce[NONCE_BYTES]; /* that it was challenged with */
	uint8_t hello[HELLO_BYTES]; /* what it answered */
};

/* Both ends, which do not block; the first is the server's. */
int channel_open(int ends[2], struct failure *failure);

void channel_say(int channel, enum channel_word word);
/* The next word; 0 when none has come; -1 when the session has gone. */
int channel_hear(int channel);

/* The caller keeps its descriptor of the connection. False when the session takes none now. */
bool channel_give(int channel, int fd, const struct handover *handover);
/* A connection of the caller's, which does not block; -1 with errno, EPIPE when none will come. */
int channel_take(int channel, struct handover *handover);
