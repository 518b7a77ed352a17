#include "third_party.h"

#include <string.h>

const char *const third_party_forwarded[] = {"streams",  "window",  "congestion",   "time",
					     "bytes",    "receive", "pacing",       "stagger",
					     "interval", "send",    "payload-seed", NULL};

static const char *forwarded_find(const char *name)
{
	for (const char *const *known = third_party_forwarded; name != NULL && *known != NULL;
	     known++) {
		if (strcmp(*known, name) == 0)
			return *known;
	}
	return NULL;
}

cJSON *third_party_encode(const struct third_party *order)
{
	cJSON *message = message_create(MESSAGE_REQUEST);
	json_add_text(message, "kind", "third-party");
	json_add_text(message, "host", order->host);
	json_add_u64(message, "port", order->port);
	cJSON *options = json_add_object(message, "options");
	for (unsigned i = 0; i < order->count; i++)
		json_add_text(options, order->options[i].name, order->options[i].value);
	return message;
}

int third_party_decode(const cJSON *message, struct third_party *order, struct failure *failure)
{
	uint64_t port;
	const cJSON *item;
	*order = (struct third_party){.host = json_get_text(message, "host")};
	/* A word that begins with a dash would be an option of `send`. */
	if (order->host == NULL || order->host[0] == '\0' || order->host[0] == '-' ||
	    strlen(order->host) > 255)
		return failure_set(failure, "request: host must be a name or an address");
	if (!json_get_u64(message, "port", 1, 65535, &port))
		return failure_set(failure, "request: port must be 1 to 65535");
	order->port = (uint16_t)port;
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(message, "options"))
	{
		const char *name = forwarded_find(item->string);
		const char *value = cJSON_GetStringValue(item);
		if (name == NULL || value == NULL || strlen(value) > 64)
			return failure_set(failure,
					   "request: an option is not one for a third party");
		if (order->count == THIRD_PARTY_OPTIONS)
			return failure_set(failure, "request: too many options");
		order->options[order->count].name = name;
		order->options[order->count++].value = value;
	}
	return 0;
}
