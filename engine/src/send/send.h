/* The state of one run of `send`: shared by this room, and by command/client.c. */
#pragma once

#include "base/clock.h"
#include "base/waiter.h"
#include "control/control.h"
#include "net/net.h"
#include "net/route.h"
#include "options/options.h"
#include "telemetry/live.h"
#include "telemetry/report.h"
#include "telemetry/sampler.h"
#include "telemetry/samples.h"
#include "telemetry/verdict.h"
#include "transfer/stall.h"
#include "transfer/streams.h"

#include <stdio.h>

struct send_state {
	const struct options *options;
	struct key *key; /* NULL: none */
	bool usage;      /* the fault is in what the command line named */
	struct waiter *waiter;
	struct control *control;
	struct request request;
	struct streams *streams; /* we send on them; NULL: the peer sends */
	struct streams *reverse; /* the peer does, and has connections that we opened; or NULL */
	struct sampler *sampler;
	struct samples *samples;
	struct samples *tcp_info;
	struct intervals *intervals;
	struct live *live;
	struct files_session *files; /* NULL: memory is sent */
	bool peer_reads;             /* it has said so already */
	struct sending sending;      /* how the bytes are made and handed over */
	char sending_reason[192];    /* why so */
	struct route route;          /* of the data connections; without a device: unknown */
	char affinity[384];          /* where the threads run, and why */
	bool mptcp;                  /* the data connections use it */
	bool untimed;                /* BBR's streams let nothing wait for TCP's timers */
	unsigned preamble_bytes;     /* that each connection of ours carried before the payload */
	struct grant grant;
	bool granted;
	const uint8_t *secret; /* that the data connections prove (SECRET_BYTES) */
	uint64_t sndbuf_bytes;
	char congestion[CONGESTION_NAME_BYTES];
	uint64_t connect_ns; /* CLOCK_MONOTONIC: our first data connection's SYN; 0: none */
	uint64_t start_ns;   /* the same clock; 0: never started */
	uint64_t start_unix_ns;
	struct stall stall;   /* since then */
	uint64_t deadline_ns; /* for the receiver's next word; UINT64_MAX: as long as data move */
	uint64_t limit_ns;    /* a server's, whatever the client says; UINT64_MAX: none */
	uint64_t wake_ns;     /* when to look at the clock; UINT64_MAX: never */
	uint64_t end_ns;
	struct host_meter *meter; /* NULL once stopped */
	struct host_usage host;
	struct cpu_usage cpu; /* at the start; since then, once ended */
	struct receiver_report report;
	bool reported;
	bool stream_lost; /* it is the failure, unless the receiver says that it has all */
	int signal;
	struct failure failure; /* what kept the transfer from being complete */
};

/* The payload, and whether this kernel can send it as asked; before anything is connected. */
int send_prepare(struct send_state *state);
/* How large verified blocks are, once the control connection knows the way. */
void send_blocks_choose(struct send_state *state);
/* The control connection and the server's grant of what is asked for. */
int send_negotiate(struct send_state *state);
/* Until something is ready that is no signal: that is a failure. For connect.c and data.c. */
int send_wait(struct send_state *state);
/* The timer that --connect-timeout sets. */
int send_wait_start(struct send_state *state);
/* All data connections of the client, tuned; each has proven which one it is. */
int send_connect(struct send_state *state);
/* What the options ask of a connection that we send on, of our host alone. */
int send_tune(struct send_state *state, unsigned index, int fd);
/* What the kernel made of it, and the way of sending, once all are connected. */
int send_choose(struct send_state *state);
/* The "sending" and "verification" members of the result. */
void send_payload_report(const struct send_state *state, cJSON *object);
/*
 * From the barrier to the receiver's result, or to what came instead: what the session's loop
 * (session/loop.c) calls. Each send_on_* returns true when the transfer is over, for good or not.
 */
int send_begin(struct send_state *state);
/* Deletes the message. */
bool send_on_message(struct send_state *state, cJSON *message, enum message_type type);
/* A signal came to us. */
bool send_on_signal(struct send_state *state, int signal);
bool send_on_streams(struct send_state *state);
bool send_on_timer(struct send_state *state, uint64_t now_ns);
void send_end(struct send_state *state);
/* What a transfer of files has in common with that. */
#define SEND_STOP_NS (10 * NS_PER_S) /* after a signal, for the receiver's report */
/* After a lost stream, for the word why: on a thin way back it is lost, and sent again, more than
 * once. */
#define SEND_REASON_NS (10 * NS_PER_S)
/* Meters and samples of streams that `start` lets begin. */
int send_threads_start(struct send_state *state, int (*start)(struct send_state *state));
/* The receiver reads: its word to begin, and the streams begin. */
int send_open(struct send_state *state);
/* The failure for a stream that ended with that errno. */
void send_lost(struct send_state *state, unsigned index, int error);
void send_take_result(struct send_state *state, const cJSON *message);
/* The result as JSON; the caller deletes it. */
cJSON *send_report(const struct send_state *state);
/* The same where nobody told how it was sent. */
cJSON *send_report_unknown(const struct send_state *state);
/* Its member "options". */
cJSON *send_options_json(const struct options *options);
/* What the socket may hold unsent (TCP_NOTSENT_LOWAT); 0: the system's. */
uint64_t send_notsent_bytes(const struct send_state *state);
/* The route of the connected streams, and their threads' processors. */
int send_place(struct send_state *state);
/* The way of the data connections in the result. */
void send_path_report(const struct send_state *state, cJSON *object);
/* What should be changed on it, or an empty text. */
void send_path_warning(const struct send_state *state, char *text, size_t size);
/* The lower of what was asked for and what the receiver allows; 0: none. */
uint64_t send_pacing_bps(const struct send_state *state);
/* As the receiver counts them; without its report, as it acknowledged. */
uint64_t send_stream_bytes(const struct send_state *state, unsigned index);
uint64_t send_stream_duration_ns(const struct send_state *state, unsigned index);
/* As far as is known, of one stream, and of all. */
struct goodput send_stream_goodput(const struct send_state *state, unsigned index);
struct goodput send_goodput(const struct send_state *state);
/* What limited the stream, once the transfer has ended. */
enum limit send_verdict(const struct send_state *state, unsigned index, char *text, size_t size);
/* Totals, tables and verdicts for people. */
void send_tell(const struct send_state *state, FILE *file);
/* The line for people. */
void send_summary(const struct send_state *state);
