/* What a client that measures does with its session, whatever it measures. */
#pragma once

#include "send/send.h"

/*
 * Turns of the waiter while it measures, when the server has nothing to say. The context is a
 * struct whose first member is the pointer to the session.
 */
bool link_on_control(void *context);
bool link_on_signal(void *context);

/*
 * The head of a report: whose it is, whether it is whole (`told`: the server said its part), and
 * the options that all of them have; `used` are those, for more of them.
 */
cJSON *link_report(const struct send_state *link, const char *role, bool told, cJSON **used);
