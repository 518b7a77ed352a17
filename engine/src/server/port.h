/*
 * The server's one port. The kernel chooses the window scale when a SYN comes, from the listener's
 * buffer: while a session waits for connections with a window of their own, the port has it.
 */
#pragma once

#include "base/failure.h"
#include "net/net.h"

#include <stdbool.h>
#include <stdint.h>

struct port {
	int listener;           /* -1: none */
	uint64_t default_bytes; /* of the buffer, as the kernel reads it back */
	uint64_t ceiling_bytes; /* of autotuning (tcp_rmem) */
	uint64_t window_bytes;  /* asked for now; 0: none */
	bool autotuned;         /* others are waited for beside that */
	uint64_t deaf_until_ns; /* there was no descriptor for who came; 0: there was */
	bool flexible;          /* that can be taken back (SO_BUF_LOCK, Linux 5.14) */
};

/* The socket that a service manager passed, or one of our own at that address (NULL: all). */
int port_open(struct port *port, const char *host, uint16_t number, struct failure *failure);
void port_close(struct port *port);
/*
 * As net_accept. Where there is no descriptor for a newcomer the port is deaf for a while: who
 * waits would wake the loop without end.
 */
int port_accept(struct port *port, struct address *peer);
/* To be watched; -1 while it is deaf. */
int port_listener(const struct port *port);
/* When it is no longer deaf, CLOCK_MONOTONIC; UINT64_MAX: it is not. */
uint64_t port_wakes_ns(const struct port *port);
/*
 * What new connections inherit from now on, so that the window's scale does for all that are waited
 * for: the largest window that was asked for, 0 for none; and what autotuning may come to, if there
 * are such connections, too. Each session then sets the size of its own.
 */
void port_set_window(struct port *port, uint64_t window_bytes, bool autotuned);
/* Of a connection that carries no data: what it inherited is not for strangers to fill. */
void port_disinherit(const struct port *port, int fd);
