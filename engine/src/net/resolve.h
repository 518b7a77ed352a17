/* Names to addresses. */
#pragma once

#include "base/failure.h"

#include <netdb.h>
#include <stdint.h>

/*
 * Literal addresses never reach DNS. `host` NULL: every local address. `family` AF_UNSPEC: of any.
 * The caller frees *list. A name is looked up in a thread of its own: SIGINT, SIGTERM and SIGHUP,
 * where they are blocked (base/waiter.h), end the waiting and stay pending.
 */
int net_resolve(const char *host, uint16_t port, int family, struct addrinfo **list,
		struct failure *failure);
