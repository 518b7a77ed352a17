/* The state of one run of `send`: shared by send_*.c only. */
#ifndef LANDSPEED_SEND_H
#define LANDSPEED_SEND_H

#include "control.h"
#include "live.h"
#include "net.h"
#include "report.h"
#include "route.h"
#include "sampler.h"
#include "samples.h"
#include "streams.h"
#include "verdict.h"
#include "waiter.h"

#include <stdio.h>

struct send_state {
	const struct options *options;
	struct key key;
	bool usage; /* the fault is in what the command line named */
	struct waiter *waiter;
	struct control *control;
	struct streams *streams;
	struct sampler *sampler;
	struct samples *samples;
	struct samples *tcp_info;
	struct intervals *intervals;
	struct live *live;
	struct files_session *files; /* NULL: memory is sent */
	struct sending sending;      /* how the bytes are made and handed over */
	char sending_reason[192];    /* why so */
	struct route route;          /* of the data connections; without a device: unknown */
	char affinity[384];          /* where the threads run, and why */
	bool mptcp;                  /* the data connections use it */
	struct grant grant;
	bool granted;
	uint64_t sndbuf_bytes;
	char congestion[CONGESTION_NAME_BYTES];
	uint64_t start_ns; /* CLOCK_MONOTONIC; 0: never started */
	uint64_t start_unix_ns;
	uint64_t end_ns;
	struct host_meter *meter; /* NULL once stopped */
	struct host_usage host;
	struct cpu_usage cpu; /* at the start; since then, once ended */
	struct receiver_report report;
	bool reported;
	int signal;
	struct failure failure; /* what kept the transfer from being complete */
};

/* The payload, and whether this kernel can send it as asked; before anything is connected. */
int send_prepare(struct send_state *state);
/* How large verified blocks are, once the control connection knows the way. */
void send_blocks_choose(struct send_state *state);
/* The control connection and the receiver's grant. */
int send_negotiate(struct send_state *state);
/* All data connections, tuned, and the receiver's word that it has them. */
int send_connect(struct send_state *state);
/* The way of sending, once the route and the buffers are known. */
int send_choose(struct send_state *state);
/* The "sending" and "verification" members of the result. */
void send_payload_report(const struct send_state *state, cJSON *object);
/* From the barrier to the receiver's result, or to what came instead. */
int send_transfer(struct send_state *state);
/* The result as JSON; the caller deletes it. */
cJSON *send_report(const struct send_state *state);
/* The lower of what was asked for and what the receiver allows; 0: none. */
/* What the socket may hold unsent (TCP_NOTSENT_LOWAT); 0: the system's. */
uint64_t send_notsent_bytes(const struct send_state *state);
/* The route of the connected streams, and their threads' processors. */
int send_place(struct send_state *state);
/* The way of the data connections in the result. */
void send_path_report(const struct send_state *state, cJSON *object);
/* What should be changed on it, or an empty text. */
void send_path_warning(const struct send_state *state, char *text, size_t size);
uint64_t send_pacing_bps(const struct send_state *state);
/* As the receiver counts them; without its report, as it acknowledged. */
uint64_t send_stream_bytes(const struct send_state *state, unsigned index);
uint64_t send_stream_duration_ns(const struct send_state *state, unsigned index);
/* What limited the stream, once the transfer has ended. */
enum limit send_verdict(const struct send_state *state, unsigned index, char *text, size_t size);
/* Totals, tables and verdicts for people. */
void send_tell(const struct send_state *state, FILE *file);
/* The line for people. */
void send_summary(const struct send_state *state);

#endif
