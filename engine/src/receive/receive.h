/* The state of one session of `receive`: shared by this room, and by receive_command.c. */
#pragma once

#include "base/waiter.h"
#include "control/control.h"
#include "control/request.h"
#include "net/net.h"
#include "options/options.h"
#include "telemetry/report.h"
#include "telemetry/sampler.h"
#include "telemetry/samples.h"
#include "transfer/stall.h"
#include "transfer/streams.h"

#include <stdio.h>

struct receive_state {
	const struct options *options;
	struct waiter *waiter;
	char peer[ADDRESS_TEXT_BYTES];
	struct control *control;
	struct request request;
	bool requested;    /* there was one */
	int channel;       /* by which the data connections come from the server's port; -1: not */
	int data_listener; /* of a port of their own; -1: none */
	int root;          /* the directory that files go to; -1: none are taken */
	struct grant grant;
	const uint8_t *secret;   /* that the data connections must prove (SECRET_BYTES) */
	struct streams *streams; /* we read them; NULL: the client reads */
	struct streams *reverse; /* it does, of connections that it opened here; or NULL */
	bool peer_reads;         /* it has said so already */
	unsigned preamble_bytes; /* that each of our connections carried before the payload */
	struct sampler *sampler;
	struct samples *samples;
	struct samples *tcp_info;
	struct live *live;           /* NULL: none */
	struct intervals *intervals; /* NULL: none */
	bool started;                /* the sender said go */
	bool time_up;                /* the time limit ended it */
	struct stall stall;          /* since the sender said go */
	uint64_t limit_ns;           /* whatever the client does; UINT64_MAX: none */
	uint64_t wake_ns;            /* when to look at the clock */
	uint64_t start_unix_ns;
	struct cpu_usage cpu;
	struct host_meter *meter; /* NULL once stopped */
	struct receiver_report report;
	bool reported;
	cJSON *answer; /* what the client of a probe is told at the end; NULL: nothing */
	int signal;
	struct failure failure;
};

/* What data must prove, and the token that the grant has for it where there is no key. */
void receive_secret_choose(struct receive_state *state);
/* Where the data connections come, and the grant that says so. */
int receive_negotiate(struct receive_state *state);
/* All data connections that the sender announced. */
int receive_gather(struct receive_state *state);
/*
 * Reads until a limit, the end or a failure, and fills the report: what the session's loop
 * (session/loop.c) calls. Each receive_on_* returns true when reading is over, for good or not.
 */
int receive_begin(struct receive_state *state);
/* Deletes the message. */
bool receive_on_message(struct receive_state *state, cJSON *message, enum message_type type);
bool receive_on_signal(struct receive_state *state, int signal);
bool receive_on_streams(struct receive_state *state);
bool receive_on_timer(struct receive_state *state, uint64_t now_ns);
void receive_end(struct receive_state *state);
/* The failure for a stream that ended with that errno. */
void receive_lost(struct receive_state *state, unsigned index, int error);
/* The failure for a sender that has come to rest. */
void receive_stalled(struct receive_state *state);
/* What was read of one stream, and of all. */
struct goodput receive_stream_goodput(const struct receive_state *state, unsigned index);
struct goodput receive_goodput(const struct receive_state *state);
/* What the streams brought, into the report; after they have ended. */
void receive_report_make(struct receive_state *state);
/* Whether all was well, once all that can go wrong is known. */
void receive_report_close(struct receive_state *state);
/* Sends the report and waits until the sender has taken it. */
void receive_deliver(struct receive_state *state);
/* Waits until the client has taken all and closes: the streams are reset only after that. */
void receive_farewell(struct receive_state *state);
/* The table for people; only when reported. */
void receive_tell(const struct receive_state *state, FILE *file);
/* The session as JSON; the caller deletes it. */
cJSON *receive_report(const struct receive_state *state);
