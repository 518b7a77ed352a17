/* What a client asks of a server: the message `request`. */
#pragma once

#include "control/message.h"
#include "control/send_settings.h"
#include "payload/receive_mode.h"
#include "protect/protect.h"

#define PROBE_BYTES_MAX    (UINT32_C(1) << 24)
#define DATAGRAM_BYTES_MIN 40
#define DATAGRAM_BYTES_MAX 65000
#define CLOCK_NAME_BYTES   33

enum request_kind {
	REQUEST_MEMORY,      /* the streams carry bytes that nobody keeps */
	REQUEST_THIRD_PARTY, /* the peer shall send to another host (third_party.h) */
	REQUEST_FILES,       /* files, to be written below the receiver's folder */
	REQUEST_ROUND_TRIPS, /* each request of the client is answered (probe/trips.h) */
	REQUEST_DATAGRAMS,   /* the client's datagrams are counted (probe/datagram.h) */
	REQUEST_KINDS
};

/* Who sends. The client opens the connections of both. */
enum direction {
	DIRECTION_FORWARD, /* the client */
	DIRECTION_REVERSE, /* the server */
	DIRECTION_BOTH,    /* each on streams of its own, at the same time */
	DIRECTIONS
};

/* Of round trips and datagrams. */
struct probe {
	uint32_t request_bytes;       /* of a request, or of a datagram */
	uint32_t response_bytes;      /* of an answer */
	bool fresh;                   /* a new connection for each round trip */
	uint64_t rate_bps;            /* of the datagrams' payload */
	uint64_t active_ns;           /* send for that time, and */
	uint64_t idle_ns;             /* then rest for that; 0: never */
	char clock[CLOCK_NAME_BYTES]; /* the client's: hosts with the same name share it */
};

struct request {
	enum request_kind kind;
	enum direction direction;
	unsigned streams;      /* of each direction */
	uint64_t window_bytes; /* 0: autotuning */
	bool window_exact;     /* offer that and no more */
	uint64_t bytes;        /* 0: no limit; of files: what they have together */
	uint64_t duration_ns;  /* 0: no limit */
	enum receive_mode receive;
	uint64_t payload_seed;         /* of verified blocks */
	uint32_t block_bytes;          /* of a full one */
	bool mptcp;                    /* data connections over multipath TCP */
	uint64_t omit_ns;              /* warm-up before the figures begin */
	enum protect_mode protect;     /* of the data; only with a key */
	struct probe probe;            /* of the kinds that are one */
	struct send_settings settings; /* how the server shall send, where it does */
};

cJSON *request_encode(const struct request *request);
int request_decode(const cJSON *message, struct request *request, struct failure *failure);

/* Is it one of round trips or of datagrams? */
bool request_probes(const struct request *request);
const char *direction_name(enum direction direction);
/* Data connections of the session: those on which the client sends come first. */
unsigned request_connections(const struct request *request);
/* The number of the first connection on which the server sends. */
unsigned request_reverse_first(const struct request *request);
bool request_client_sends(const struct request *request);
bool request_server_sends(const struct request *request);
