/* The server's side of round trips and datagrams, in the process of the session. */
#pragma once

#include "receive/receive.h"

/* Negotiates, serves, and makes the answer for the client. -1 with the state's failure set. */
int trip_serve(struct receive_state *state);
int datagram_serve(struct receive_state *state);

/* A turn of the waiter of both; the first member of its context is the pointer to the state. */
bool serve_on_signal(void *context);
