/* What the handshakes of both ends have in common. */
#pragma once

#include "base/waiter.h"
#include "control/control.h"

/* A peer that has said it is ready, or is done, answers within this. */
#define PATIENCE_NS (60 * UINT64_C(1000000000))

/* Takes what has come. 1: a message; 0: none that is whole; -1 with the failure set. */
int session_take(struct control *control, cJSON **message, enum message_type *type,
		 struct failure *failure);

/*
 * The next message, which must be of type `wanted`, within `timeout_ns`. A message of type error
 * becomes the failure. *signal is the signal that ended the waiting, or 0.
 */
int session_expect(struct waiter *waiter, struct control *control, enum message_type wanted,
		   uint64_t timeout_ns, cJSON **message, int *signal, struct failure *failure);

/*
 * The client's part of the handshake that opens the connection, each step within `timeout_ns`;
 * `key` NULL: none. Large frames, and tags when there is a key, apply from then on.
 */
int session_authenticate(struct waiter *waiter, struct control *control, const struct key *key,
			 uint64_t timeout_ns, int *signal, struct failure *failure);

/* Sends and deletes the message. If the peer has closed, what it said before is the failure. */
int session_send(struct control *control, cJSON *message, struct failure *failure);

/* The failure for a message that does not belong here; deletes the message. */
int session_refuse(cJSON *message, enum message_type type, struct failure *failure);
