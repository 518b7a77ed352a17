/*
 * What systemd asks of a service: sd_notify(3) and sd_listen_fds(3), a datagram and three
 * variables. By hand: libsystemd would be a dependency of every guest and host for these sixty
 * lines.
 */
#pragma once

#include "base/failure.h"

/* Tells the service manager, if there is one; "READY=1", "STOPPING=1", "STATUS=...". */
void notify_send(const char *state);
/* The listening socket that the service manager passed, -1 for none, -2 with the failure set. */
int notify_listener(struct failure *failure);
