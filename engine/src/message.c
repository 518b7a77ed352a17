#include "message.h"

#include "blocks.h"

#include <stdio.h>
#include <string.h>

static const char *const type_names[] = {
    [MESSAGE_GREETING] = "greeting",
    [MESSAGE_CHALLENGE] = "challenge",
    [MESSAGE_PROOF] = "proof",
    [MESSAGE_WELCOME] = "welcome",
    [MESSAGE_REQUEST] = "request",
    [MESSAGE_QUEUED] = "queued",
    [MESSAGE_GRANT] = "grant",
    [MESSAGE_READY] = "ready",
    [MESSAGE_GO] = "go",
    [MESSAGE_STOP] = "stop",
    [MESSAGE_RESULT] = "result",
    [MESSAGE_ERROR] = "error",
    [MESSAGE_FILES_HAVE] = "files-have",
    [MESSAGE_FILES_STATE] = "files-state",
    [MESSAGE_FILES_AGAIN] = "files-again",
    [MESSAGE_FILES_PROGRESS] = "files-progress",
};

static const char *const kind_names[] = {
    [REQUEST_MEMORY] = "memory",
    [REQUEST_FILES] = "files",
    [REQUEST_THIRD_PARTY] = "third-party",
};

#define TYPE_COUNT (sizeof(type_names) / sizeof(type_names[0]))

const char *message_type_name(enum message_type type)
{
	return type_names[type];
}

cJSON *message_create(enum message_type type)
{
	cJSON *message = cJSON_CreateObject();
	json_add_u64(message, "protocol", PROTOCOL_VERSION);
	json_add_text(message, "type", type_names[type]);
	return message;
}

static int message_check(const cJSON *message, enum message_type *type, struct failure *failure)
{
	uint64_t version;
	if (!cJSON_IsObject(message))
		return failure_set(failure, "the peer sent something that is no control message");
	if (!json_get_u64(message, "protocol", 0, JSON_INTEGER_MAX, &version))
		return failure_set(failure, "control message without a protocol version");
	if (version != PROTOCOL_VERSION)
		return failure_set(failure,
				   "the peer speaks protocol version %llu, this engine %d: "
				   "use the same build on both ends",
				   (unsigned long long)version, PROTOCOL_VERSION);
	const char *name = json_get_text(message, "type");
	for (size_t i = 0; name != NULL && i < TYPE_COUNT; i++) {
		if (strcmp(name, type_names[i]) == 0) {
			*type = (enum message_type)i;
			return 0;
		}
	}
	return failure_set(failure, "control message of an unknown type");
}

int message_parse(const char *payload, size_t length, cJSON **message, enum message_type *type,
		  struct failure *failure)
{
	cJSON *parsed = cJSON_ParseWithLength(payload, length);
	if (message_check(parsed, type, failure) != 0) {
		cJSON_Delete(parsed);
		return -1;
	}
	*message = parsed;
	return 0;
}

cJSON *request_encode(const struct request *request)
{
	cJSON *message = message_create(MESSAGE_REQUEST);
	json_add_text(message, "kind", kind_names[request->kind]);
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
	return message;
}

static bool kind_decode(const cJSON *message, enum request_kind *kind)
{
	const char *name = json_get_text(message, "kind");
	for (size_t i = 0; name != NULL && i < sizeof(kind_names) / sizeof(kind_names[0]); i++) {
		if (strcmp(name, kind_names[i]) == 0) {
			*kind = (enum request_kind)i;
			return true;
		}
	}
	return false;
}

static int blocks_decode(const cJSON *message, struct request *request, uint64_t streams,
			 struct failure *failure)
{
	uint64_t block_bytes = 0;
	request->payload_seed = 0;
	request->block_bytes = 0;
	if (request->receive != RECEIVE_VERIFY)
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

int request_decode(const cJSON *message, struct request *request, struct failure *failure)
{
	uint64_t streams;
	if (!kind_decode(message, &request->kind))
		return failure_set(failure,
				   "request: kind must be 'memory', 'files' or 'third-party'");
	if (request->kind == REQUEST_THIRD_PARTY) {
		*request = (struct request){.kind = REQUEST_THIRD_PARTY};
		return 0; /* the rest is not for us: third_party_decode */
	}
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
	if (request->bytes != 0 && request->bytes < streams)
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
	return 0;
}

cJSON *grant_encode(const struct grant *grant)
{
	char token[TOKEN_HEX + 1];
	cJSON *message = message_create(MESSAGE_GRANT);
	token_to_hex(grant->token, token);
	json_add_u64(message, "data_port", grant->data_port);
	json_add_text(message, "token", token);
	json_add_u64(message, "rcvbuf_bytes", grant->rcvbuf_bytes);
	json_add_u64(message, "pacing_bps", grant->pacing_bps);
	json_add_u64(message, "rcvbuf_ceiling_bytes", grant->rcvbuf_ceiling_bytes);
	json_add_text(message, "warning", grant->warning);
	return message;
}

int grant_decode(const cJSON *message, struct grant *grant, struct failure *failure)
{
	uint64_t port;
	const char *token = json_get_text(message, "token");
	if (!json_get_u64(message, "data_port", 1, 65535, &port))
		return failure_set(failure, "grant: data_port must be 1 to 65535");
	if (token == NULL || !token_from_hex(token, grant->token))
		return failure_set(failure, "grant: token must be %d hexadecimal digits",
				   TOKEN_HEX);
	if (!json_get_u64(message, "rcvbuf_bytes", 0, UINT32_MAX, &grant->rcvbuf_bytes))
		return failure_set(failure, "grant: rcvbuf_bytes must be an integer");
	if (!json_get_u64(message, "pacing_bps", 0, JSON_INTEGER_MAX, &grant->pacing_bps))
		return failure_set(failure, "grant: pacing_bps must be an integer");
	if (!json_get_u64(message, "rcvbuf_ceiling_bytes", 0, JSON_INTEGER_MAX,
			  &grant->rcvbuf_ceiling_bytes))
		grant->rcvbuf_ceiling_bytes = 0;
	grant->data_port = (uint16_t)port;
	grant->warning = NULL;
	return 0;
}

cJSON *error_encode(const char *text)
{
	cJSON *message = message_create(MESSAGE_ERROR);
	json_add_text(message, "text", text);
	return message;
}

void error_decode(const cJSON *message, char *text, size_t size)
{
	const char *said = json_get_text(message, "text");
	(void)snprintf(text, size, "%s", said != NULL ? said : "(no reason given)");
	for (char *c = text; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	}
}
