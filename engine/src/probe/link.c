#include "probe/link.h"

#include "control/session.h"

/* The session is the first member of what they work for. */
static struct send_state *link_of(void *context)
{
	return *(struct send_state **)context;
}

bool link_on_control(void *context)
{
	cJSON *message;
	enum message_type type;
	struct send_state *link = link_of(context);
	enum control_status status = control_take(link->control, &message, &type, &link->failure);
	if (status == CONTROL_MESSAGE)
		(void)session_refuse(message, type, &link->failure);
	return status != CONTROL_PENDING;
}

bool link_on_signal(void *context)
{
	struct send_state *link = link_of(context);
	link->signal = waiter_take_signal(link->waiter);
	(void)failure_set(&link->failure, "interrupted by %s", signal_name(link->signal));
	return true;
}
