/* What a client that measures does with its session, whatever it measures. */
#ifndef LANDSPEED_PROBE_LINK_H
#define LANDSPEED_PROBE_LINK_H

#include "send/send.h"

/*
 * Turns of the waiter while it measures, when the server has nothing to say. The context is a
 * struct whose first member is the pointer to the session.
 */
bool link_on_control(void *context);
bool link_on_signal(void *context);

#endif
