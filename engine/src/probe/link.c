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

cJSON *link_report(const struct send_state *link, const char *role, bool told, cJSON **used)
{
	cJSON *object = cJSON_CreateObject();
	json_add_item(object, "engine", engine_json());
	json_add_text(object, "role", role);
	json_add_bool(object, "complete", !link->failure.set && told);
	json_add_text(object, "error", link->failure.set ? link->failure.text : NULL);
	json_add_text(object, "signal", link->signal != 0 ? signal_name(link->signal) : NULL);
	*used = json_add_object(object, "options");
	json_add_text(*used, "host", link->options->host);
	json_add_u64(*used, "port", link->options->port);
	return object;
}
