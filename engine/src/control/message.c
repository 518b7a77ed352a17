#include "control/message.h"

#include "base/hex.h"
#include "base/text_sanitize.h"
#include "control/key.h"

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
    [MESSAGE_ACCOUNT] = "account",
    [MESSAGE_ERROR] = "error",
    [MESSAGE_FILES_HAVE] = "files-have",
    [MESSAGE_FILES_STATE] = "files-state",
    [MESSAGE_FILES_AGAIN] = "files-again",
    [MESSAGE_FILES_PROGRESS] = "files-progress",
};

#define TOKEN_HEX  (2 * SECRET_BYTES)
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

/* Every word of a peer, wherever it goes from here. */
static void words_tame(cJSON *item)
{
	for (; item != NULL; item = item->next) {
		if (item->string != NULL)
			text_sanitize(item->string);
		if (cJSON_IsString(item))
			text_sanitize(item->valuestring);
		words_tame(item->child);
	}
}

int message_parse(const char *payload, size_t length, cJSON **message, enum message_type *type,
		  struct failure *failure)
{
	cJSON *parsed = json_parse(payload, length);
	if (message_check(parsed, type, failure) != 0) {
		cJSON_Delete(parsed);
		return -1;
	}
	words_tame(parsed);
	*message = parsed;
	return 0;
}

cJSON *grant_encode(const struct grant *grant)
{
	char token[TOKEN_HEX + 1];
	cJSON *message = message_create(MESSAGE_GRANT);
	if (grant->data_port != 0)
		json_add_u64(message, "data_port", grant->data_port);
	json_add_u64(message, "session", grant->session);
	if (grant->has_token) {
		hex_encode(grant->token, SECRET_BYTES, token);
		json_add_text(message, "token", token);
	}
	json_add_u64(message, "rcvbuf_bytes", grant->rcvbuf_bytes);
	json_add_u64(message, "pacing_bps", grant->pacing_bps);
	json_add_u64(message, "rcvbuf_ceiling_bytes", grant->rcvbuf_ceiling_bytes);
	json_add_text(message, "warning", grant->warning);
	return message;
}

int grant_decode(const cJSON *message, struct grant *grant, struct failure *failure)
{
	uint64_t port = 0;
	uint64_t session;
	const char *token = json_get_text(message, "token");
	if (cJSON_GetObjectItemCaseSensitive(message, "data_port") != NULL &&
	    !json_get_u64(message, "data_port", 1, 65535, &port))
		return failure_set(failure, "grant: data_port must be 1 to 65535");
	if (!json_get_u64(message, "session", 0, UINT32_MAX, &session))
		return failure_set(failure, "grant: session must be an integer");
	grant->has_token = token != NULL;
	if (token != NULL && !hex_decode(token, grant->token, SECRET_BYTES))
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
	grant->session = (uint32_t)session;
	grant->warning = NULL;
	return 0;
}

cJSON *queued_encode(uint64_t place)
{
	cJSON *message = message_create(MESSAGE_QUEUED);
	json_add_u64(message, "place", place);
	return message;
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
	text_sanitize(text); /* it may be cut within a character */
}
