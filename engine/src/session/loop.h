/*
 * One session's loop, at either end: what we send, what we read, or both at once. The directions
 * share the control connection: who reads says ready and result, who sends says go and stop, so
 * that the type of a message tells which direction it is of.
 */
#pragma once

#include "receive/receive.h"
#include "send/send.h"

struct session {
	struct waiter *waiter;
	struct control *control;
	struct send_state *send;       /* NULL: nothing is sent */
	struct receive_state *receive; /* NULL: nothing is read */
	bool peer_reads;               /* it has said so already */
	bool send_over;
	bool receive_over;
};

/*
 * All streams are connected: from here to the end of each direction, for good or not; the states
 * say how. A direction that ends badly ends the other one. When both are there, the result of what
 * was read is sent as soon as it is known, since the peer goes on sending until then.
 */
int session_follow(struct session *session);
