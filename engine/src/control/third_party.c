#include "control/third_party.h"

#include <string.h>

static const struct third_party_option *known_find(const struct third_party_option *known,
						   const char *name)
{
	for (; name != NULL && known->name != NULL; known++) {
		if (strcmp(known->name, name) == 0)
			return known;
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
	for (unsigned i = 0; i < order->count; i++) {
		if (order->options[i].value != NULL)
			json_add_text(options, order->options[i].name, order->options[i].value);
		else
			json_add_bool(options, order->options[i].name, true);
	}
	return message;
}

static bool option_take(const cJSON *item, const struct third_party_option *known,
			struct third_party *order)
{
	const struct third_party_option *option = known_find(known, item->string);
	const char *value = cJSON_GetStringValue(item);
	if (option == NULL || (option->argument != NULL) != (value != NULL) ||
	    (value == NULL && !cJSON_IsTrue(item)) ||
	    (value != NULL && strlen(value) >= THIRD_PARTY_VALUE_BYTES))
		return false;
	order->options[order->count].name = option->name;
	order->options[order->count++].value = value;
	return true;
}

int third_party_decode(const cJSON *message, const struct third_party_option *known,
		       struct third_party *order, struct failure *failure)
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
		if (order->count == THIRD_PARTY_OPTIONS)
			return failure_set(failure, "request: too many options");
		if (!option_take(item, known, order))
			return failure_set(failure,
					   "request: an option is not one for a third party");
	}
	return 0;
}
