/* The messages of the control connection: JSON objects with "protocol" and "type". */
#ifndef LANDSPEED_MESSAGE_H
#define LANDSPEED_MESSAGE_H

#include "failure.h"
#include "hello.h"
#include "json.h"
#include "options.h"

#include <stddef.h>

#define PROTOCOL_VERSION 6

enum message_type {
	MESSAGE_GREETING,  /* sender: opens the connection (auth.h) */
	MESSAGE_CHALLENGE, /* receiver: prove that you have the key */
	MESSAGE_PROOF,     /* sender */
	MESSAGE_WELCOME,   /* receiver: its own proof */
	MESSAGE_REQUEST,   /* sender: what it wants to transfer */
	MESSAGE_QUEUED,    /* receiver: the request waits for its turn */
	MESSAGE_GRANT,     /* receiver: port and token of the data connections */
	MESSAGE_READY,     /* receiver: all streams are connected */
	MESSAGE_GO,        /* sender: the transfer begins now */
	MESSAGE_STOP,      /* sender: end before the limit (a signal) */
	MESSAGE_RESULT,    /* receiver: what it read */
	MESSAGE_ERROR,     /* either: why the session ends */
	/* receiver of files (files_message.h): */
	MESSAGE_FILES_HAVE,     /* blocks of a file that it has already */
	MESSAGE_FILES_STATE,    /* which files it wants, has, or cannot write */
	MESSAGE_FILES_AGAIN,    /* a block came damaged */
	MESSAGE_FILES_PROGRESS, /* what is verified so far */
};

enum request_kind {
	REQUEST_MEMORY,      /* the streams carry bytes that nobody keeps */
	REQUEST_THIRD_PARTY, /* the peer shall send to another host (third_party.h) */
	REQUEST_FILES,       /* files, to be written below the receiver's folder */
};

struct request {
	enum request_kind kind;
	unsigned streams;
	uint64_t window_bytes; /* 0: autotuning */
	bool window_exact;     /* offer that and no more */
	uint64_t bytes;        /* 0: no limit */
	uint64_t duration_ns;  /* 0: no limit */
	enum receive_mode receive;
	uint64_t payload_seed; /* of verified blocks */
	uint32_t block_bytes;  /* of a full one */
	bool mptcp;            /* data connections over multipath TCP */
	uint64_t omit_ns;      /* warm-up before the figures begin */
};

struct grant {
	uint16_t data_port;
	uint8_t token[TOKEN_BYTES];
	uint64_t rcvbuf_bytes;         /* as the kernel reads it back: doubled */
	uint64_t pacing_bps;           /* ceiling of each stream; 0: none */
	uint64_t rcvbuf_ceiling_bytes; /* of autotuning (tcp_rmem); 0: unknown */
	const char *warning;           /* only when encoding; NULL for none */
};

/* A new message of that type; further members may be added. */
cJSON *message_create(enum message_type type);
/* Parses and checks version and type. -1 with the failure set when it is not a message. */
int message_parse(const char *payload, size_t length, cJSON **message, enum message_type *type,
		  struct failure *failure);
const char *message_type_name(enum message_type type);

cJSON *request_encode(const struct request *request);
int request_decode(const cJSON *message, struct request *request, struct failure *failure);
cJSON *grant_encode(const struct grant *grant);
int grant_decode(const cJSON *message, struct grant *grant, struct failure *failure);
cJSON *error_encode(const char *text);
/* The peer's own words, cut and without control characters: they go to a terminal. */
void error_decode(const cJSON *message, char *text, size_t size);

#endif
