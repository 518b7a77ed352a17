#include "control/request.h"

#include "net/window.h"
#include "payload/blocks.h"

#include <stdio.h>
#include <string.h>

static const char *const kind_names[REQUEST_KINDS] = {
    [REQUEST_MEMORY] = "memory",           [REQUEST_FILES] = "files",
    [REQUEST_THIRD_PARTY] = "third-party", [REQUEST_ROUND_TRIPS] = "round-trips",
    [REQUEST_DATAGRAMS] = "datagrams",
};

static const char *const direction_names[DIRECTIONS] = {
    [DIRECTION_FORWARD] = "forward",
    [DIRECTION_REVERSE] = "reverse",
    [DIRECTION_BOTH] = "both",
};

const char *direction_name(enum direction direction)
{
	return direction_names[direction];
}

bool request_client_sends(const struct request *request)
{
	return request->direction != DIRECTION_REVERSE;
}

bool request_server_sends(const struct request *request)
{
	return request->direction != DIRECTION_FORWARD;
}

unsigned request_connections(const struct request *request)
{
	return request->direction == DIRECTION_BOTH ? 2 * request->streams : request->streams;
}

unsigned request_reverse_first(const struct request *request)
{
	return request->direction == DIRECTION_REVERSE ? 0 : request->streams;
}

bool request_probes(const struct request *request)
{
	return request->kind == REQUEST_ROUND_TRIPS || request->kind == REQUEST_DATAGRAMS;
}

static cJSON *probe_encode(const struct probe *probe)
{
	cJSON *object = cJSON_CreateObject();
	json_add_u64(object, "request_bytes", probe->request_bytes);
	json_add_u64(object, "response_bytes", probe->response_bytes);
	json_add_bool(object, "fresh", probe->fresh);
	json_add_u64(object, "rate_bps", probe->rate_bps);
	json_add_text(object, "clock", probe->clock);
	return object;
}

cJSON *request_encode(const struct request *request)
{
	cJSON *message = message_create(MESSAGE_REQUEST);
	json_add_text(message, "kind", kind_names[request->kind]);
	json_add_text(message, "direction", direction_names[request->direction]);
	json_add_u64(message, "streams", request->streams);
	json_add_u64(message, "window_bytes", request->window_bytes);
	json_add_bool(message, "window_exact", request->window_exact);
	json_add_u64(message, "bytes", request->bytes);
	json_add_u64(message, "duration_ns", request->duration_ns);
	json_add_text(message, "receive", receive_mode_name(request->receive));
	json_add_u64(message, "payload_seed", request->payload_seed);
	json_add_u64(message, "block_bytes", request->block_bytes);
	json_add_bool(message, "mptcp", request->mptcp);
	json_add_u64(message, "omit_ns", request->omit_ns);
	json_add_text(message, "protect", protect_mode_name(request->protect));
	if (request_probes(request))
		json_add_item(message, "probe", probe_encode(&request->probe));
	if (request_server_sends(request))
		json_add_item(message, "wishes", send_settings_encode(&request->settings));
	return message;
}

/* The place of a member's text in the list; false when it is not there. */
static bool name_find(const cJSON *message, const char *member, const char *const *names,
		      unsigned count, unsigned *found)
{
	const char *name = json_get_text(message, member);
	for (unsigned i = 0; name != NULL && i < count; i++) {
		if (strcmp(name, names[i]) == 0) {
			*found = i;
			return true;
		}
	}
	return false;
}

/* Without a word the client sends. */
static int direction_decode(const cJSON *message, struct request *request, struct failure *failure)
{
	unsigned direction = DIRECTION_FORWARD;
	if (cJSON_HasObjectItem(message, "direction") &&
	    !name_find(message, "direction", direction_names, DIRECTIONS, &direction))
		return failure_set(failure,
				   "request: direction must be 'forward', 'reverse' or 'both'");
	request->direction = (enum direction)direction;
	if (request->kind == REQUEST_FILES && request->direction == DIRECTION_BOTH)
		return failure_set(failure, "request: files go in one direction");
	if (request_connections(request) > STREAMS_LIMIT)
		return failure_set(failure,
				   "request: streams of both directions must be %d at most",
				   STREAMS_LIMIT);
	return send_settings_decode(cJSON_GetObjectItemCaseSensitive(message, "wishes"),
				    &request->settings, failure);
}

static int blocks_decode(const cJSON *message, struct request *request, uint64_t streams,
			 struct failure *failure)
{
	uint64_t block_bytes = 0;
	request->payload_seed = 0;
	request->block_bytes = 0;
	if (request->kind != REQUEST_MEMORY || request->receive != RECEIVE_VERIFY)
		return 0;
	if (!json_get_u64(message, "payload_seed", 0, SEED_LIMIT - 1, &request->payload_seed))
		return failure_set(failure, "request: payload_seed must be an integer below 2^53");
	if (!json_get_u64(message, "block_bytes", BLOCK_LEAST_BYTES, BLOCK_BYTES, &block_bytes))
		return failure_set(failure, "request: block_bytes must be %u to %u",
				   BLOCK_LEAST_BYTES, BLOCK_BYTES);
	if (request->bytes != 0 && request->bytes / streams < BLOCK_MIN_BYTES)
		return failure_set(failure, "request: fewer bytes than blocks");
	request->block_bytes = (uint32_t)block_bytes;
	return 0;
}

static int protect_decode(const cJSON *message, struct request *request, struct failure *failure)
{
	const char *name = json_get_text(message, "protect");
	request->protect = PROTECT_NONE;
	if (name != NULL && !protect_mode_parse(name, &request->protect))
		return failure_set(failure,
				   "request: protect must be 'none', 'mac', 'aead' or 'ktls'");
	if (request->protect == PROTECT_KTLS && request->mptcp)
		return failure_set(failure, "request: ktls does not go over MPTCP");
	if (request->protect != PROTECT_NONE && request->kind == REQUEST_MEMORY &&
	    request->receive == RECEIVE_DISCARD)
		return failure_set(failure,
				   "request: what is protected cannot be discarded unseen");
	return 0;
}

static int probe_decode(const cJSON *message, struct request *request, struct failure *failure)
{
	uint64_t asked;
	uint64_t answered = 0;
	bool datagrams = request->kind == REQUEST_DATAGRAMS;
	struct probe *probe = &request->probe;
	const cJSON *object = cJSON_GetObjectItemCaseSensitive(message, "probe");
	if (!request_probes(request))
		return 0;
	if (request->direction != DIRECTION_FORWARD || request->duration_ns == 0)
		return failure_set(
		    failure, "request: round trips and datagrams have a time, and one direction");
	if (!json_get_u64(object, "request_bytes", datagrams ? DATAGRAM_BYTES_MIN : 1,
			  datagrams ? DATAGRAM_BYTES_MAX : PROBE_BYTES_MAX, &asked) ||
	    (!datagrams && !json_get_u64(object, "response_bytes", 1, PROBE_BYTES_MAX, &answered)))
		return failure_set(failure,
				   "request: sizes of round trips must be 1 to %u, of "
				   "datagrams %d to %d",
				   PROBE_BYTES_MAX, DATAGRAM_BYTES_MIN, DATAGRAM_BYTES_MAX);
	if (datagrams && !json_get_u64(object, "rate_bps", 1, JSON_INTEGER_MAX, &probe->rate_bps))
		return failure_set(failure, "request: rate_bps must be an integer above 0");
	const char *clock = json_get_text(object, "clock");
	(void)snprintf(probe->clock, sizeof(probe->clock), "%s", clock != NULL ? clock : "");
	probe->request_bytes = (uint32_t)asked;
	probe->response_bytes = (uint32_t)answered;
	probe->fresh = json_get_true(object, "fresh");
	return 0;
}

int request_decode(const cJSON *message, struct request *request, struct failure *failure)
{
	uint64_t streams;
	unsigned kind;
	if (!name_find(message, "kind", kind_names, REQUEST_KINDS, &kind))
		return failure_set(failure,
				   "request: kind must be 'memory', 'files', 'round-trips', "
				   "'datagrams' or 'third-party'");
	*request = (struct request){.kind = (enum request_kind)kind};
	if (request->kind == REQUEST_THIRD_PARTY)
		return 0; /* the rest is not for us: third_party_decode */
	const char *receive = json_get_text(message, "receive");
	if (!json_get_u64(message, "streams", 1, STREAMS_LIMIT, &streams))
		return failure_set(failure, "request: streams must be 1 to %d", STREAMS_LIMIT);
	if (!json_get_u64(message, "window_bytes", 0, WINDOW_LIMIT_BYTES, &request->window_bytes))
		return failure_set(failure, "request: window_bytes must be 0 to 1 GiB");
	if (!json_get_u64(message, "bytes", 0, JSON_INTEGER_MAX, &request->bytes))
		return failure_set(failure, "request: bytes must be an integer from 0 to 2^53");
	if (!json_get_u64(message, "duration_ns", 0, JSON_INTEGER_MAX, &request->duration_ns))
		return failure_set(failure,
				   "request: duration_ns must be an integer from 0 to 2^53");
	if (request->kind == REQUEST_MEMORY && request->bytes == 0 && request->duration_ns == 0)
		return failure_set(failure,
				   "request: neither bytes nor duration_ns limits the transfer");
	if (request->kind == REQUEST_MEMORY && request->bytes != 0 && request->bytes < streams)
		return failure_set(failure, "request: fewer bytes than streams");
	if (receive == NULL || !receive_mode_parse(receive, &request->receive))
		return failure_set(failure,
				   "request: receive must be 'discard', 'memory' or 'verify'");
	if (blocks_decode(message, request, streams, failure) != 0)
		return -1;
	request->window_exact = json_get_true(message, "window_exact");
	request->mptcp = json_get_true(message, "mptcp");
	request->omit_ns = 0;
	if (cJSON_HasObjectItem(message, "omit_ns") &&
	    !json_get_u64(message, "omit_ns", 0, JSON_INTEGER_MAX, &request->omit_ns))
		return failure_set(failure, "request: omit_ns must be an integer from 0 to 2^53");
	request->streams = (unsigned)streams;
	if (direction_decode(message, request, failure) != 0 ||
	    probe_decode(message, request, failure) != 0)
		return -1;
	return protect_decode(message, request, failure);
}
