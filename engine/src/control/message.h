/* The messages of the control connection: JSON objects with "protocol" and "type". */
#pragma once

#include "base/failure.h"
#include "base/json.h"
#include "control/hello.h"

#include <stddef.h>

#define PROTOCOL_VERSION 9

enum message_type {
	MESSAGE_GREETING,  /* client: opens the connection (auth.h) */
	MESSAGE_CHALLENGE, /* server: prove that you have the key */
	MESSAGE_PROOF,     /* client */
	MESSAGE_WELCOME,   /* server: its own proof */
	MESSAGE_REQUEST,   /* client: what it wants to transfer (request.h) */
	MESSAGE_QUEUED,    /* server: the request waits for its turn */
	MESSAGE_GRANT, /* server: how the data connections come: session and, without a key, token
			*/
	/* In each direction of the data: */
	MESSAGE_READY,   /* receiver: it reads all of its streams */
	MESSAGE_GO,      /* sender: the transfer begins now */
	MESSAGE_STOP,    /* sender: end before the limit (a signal) */
	MESSAGE_RESULT,  /* receiver: what it read */
	MESSAGE_ACCOUNT, /* server, when it has sent: its account of that, for the client */
	MESSAGE_ERROR,   /* either: why the session ends */
	/* receiver of files (files/message.h): */
	MESSAGE_FILES_HAVE,     /* blocks of a file that it has already */
	MESSAGE_FILES_STATE,    /* which files it wants, has, or cannot write */
	MESSAGE_FILES_AGAIN,    /* a block came damaged */
	MESSAGE_FILES_PROGRESS, /* what is verified so far */
};

struct grant {
	uint16_t data_port; /* 0: that of the control connection */
	uint32_t session;   /* what the data connections say they are of (hello.h) */
	bool has_token;     /* only where there is no key: it travels in clear */
	uint8_t token[SECRET_BYTES];
	uint64_t rcvbuf_bytes;         /* as the kernel reads it back: doubled */
	uint64_t pacing_bps;           /* ceiling of each stream; 0: none */
	uint64_t rcvbuf_ceiling_bytes; /* of autotuning (tcp_rmem); 0: unknown */
	const char *warning;           /* only when encoding; NULL for none */
};

/* A new message of that type; further members may be added. */
cJSON *message_create(enum message_type type);
/* Parses, checks version and type, and makes all texts harmless. -1 with the failure set when it is
 * not a message. */
int message_parse(const char *payload, size_t length, cJSON **message, enum message_type *type,
		  struct failure *failure);
const char *message_type_name(enum message_type type);

cJSON *grant_encode(const struct grant *grant);
int grant_decode(const cJSON *message, struct grant *grant, struct failure *failure);
/* At which place it waits; 0: it is served, and what comes first takes long. */
cJSON *queued_encode(uint64_t place);
cJSON *error_encode(const char *text);
/* The peer's own words, cut. */
void error_decode(const cJSON *message, char *text, size_t size);
