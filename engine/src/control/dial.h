/* A client's way to the server: the first of its addresses that answers. */
#pragma once

#include "base/waiter.h"
#include "control/control.h"

struct dial {
	const char *host;
	uint16_t port;
	int family;          /* AF_UNSPEC: any */
	const char *bind;    /* the local address; NULL: the system's choice */
	const char *device;  /* the interface; NULL: the system's choice */
	uint64_t timeout_ns; /* for each address */
};

/* NULL with the failure set. *signal is the signal that ended the waiting, or 0. */
struct control *control_dial(struct waiter *waiter, const struct dial *dial, int *signal,
			     struct failure *failure);
