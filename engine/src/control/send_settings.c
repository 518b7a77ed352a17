#include "control/send_settings.h"

#include "net/tune.h"

#include <stdio.h>
#include <string.h>

cJSON *send_settings_encode(const struct send_settings *settings)
{
	cJSON *object = cJSON_CreateObject();
	json_add_text(object, "congestion",
		      settings->congestion[0] != '\0' ? settings->congestion : NULL);
	json_add_text(object, "send", send_method_name(settings->send_method));
	json_add_u64(object, "pacing_bps", settings->pacing_bps);
	json_add_u64(object, "pacing_total_bps", settings->pacing_total_bps);
	json_add_u64(object, "notsent_bytes", settings->notsent_bytes);
	json_add_u64(object, "stagger_ns", settings->stagger_ns);
	json_add_u64(object, "dscp", settings->dscp);
	return object;
}

static bool congestion_decode(const cJSON *object, struct send_settings *settings)
{
	char one[CONGESTION_NAME_BYTES];
	const char *names = json_get_text(object, "congestion");
	if (names == NULL)
		return true;
	if (strlen(names) >= sizeof(settings->congestion))
		return false;
	(void)snprintf(settings->congestion, sizeof(settings->congestion), "%s", names);
	for (unsigned i = 0; i < sizeof(settings->congestion); i++) {
		if (!congestion_of_stream(names, i, one))
			return false;
	}
	return true;
}

/* One that is missing is 0. */
static bool number_decode(const cJSON *object, const char *name, uint64_t *value)
{
	*value = 0;
	return !cJSON_HasObjectItem(object, name) ||
	       json_get_u64(object, name, 0, JSON_INTEGER_MAX, value);
}

int send_settings_decode(const cJSON *object, struct send_settings *settings,
			 struct failure *failure)
{
	uint64_t dscp = DSCP_NONE;
	*settings = (struct send_settings){.dscp = DSCP_NONE};
	if (object == NULL)
		return 0;
	const char *way = json_get_text(object, "send");
	if (!cJSON_IsObject(object) ||
	    (way != NULL && !send_method_parse(way, &settings->send_method)))
		return failure_set(failure, "request: wishes.send is no way of sending");
	if (!congestion_decode(object, settings))
		return failure_set(failure, "request: wishes.congestion must be a list of names");
	if (!number_decode(object, "pacing_bps", &settings->pacing_bps) ||
	    !number_decode(object, "pacing_total_bps", &settings->pacing_total_bps) ||
	    !number_decode(object, "notsent_bytes", &settings->notsent_bytes) ||
	    !number_decode(object, "stagger_ns", &settings->stagger_ns))
		return failure_set(failure, "request: wishes must be integers from 0 to 2^53");
	if (cJSON_HasObjectItem(object, "dscp") &&
	    !json_get_u64(object, "dscp", 0, DSCP_NONE, &dscp))
		return failure_set(failure, "request: wishes.dscp must be 0 to 63");
	settings->dscp = (unsigned)dscp;
	return 0;
}
