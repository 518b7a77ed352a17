/* The state of one session of `receive`: shared by receive_*.c only. */
#ifndef LANDSPEED_RECEIVE_H
#define LANDSPEED_RECEIVE_H

#include "control.h"
#include "net.h"
#include "report.h"
#include "sampler.h"
#include "samples.h"
#include "streams.h"
#include "waiter.h"

#include <stdio.h>

struct receive_state {
	const struct options *options;
	struct waiter *waiter;
	char peer[ADDRESS_TEXT_BYTES];
	struct control *control;
	struct request request;
	bool requested; /* there was one */
	int data_listener;
	int root; /* the directory that files go to; -1: none are taken */
	struct grant grant;
	struct streams *streams;
	struct sampler *sampler;
	struct samples *samples;
	struct samples *tcp_info;
	bool started; /* the sender said go */
	bool time_up; /* the time limit ended it */
	uint64_t
	    warm_ns; /* CLOCK_MONOTONIC: the warm-up was over; 0: it is not, or there is none */
	uint64_t warm_bytes[STREAMS_LIMIT]; /* what had been read by then */
	uint64_t start_unix_ns;
	struct cpu_usage cpu;
	struct host_meter *meter; /* NULL once stopped */
	struct receiver_report report;
	bool reported;
	int signal;
	struct failure failure;
};

/* Data listener and grant. */
int receive_negotiate(struct receive_state *state);
/* All data connections that the sender announced. */
int receive_gather(struct receive_state *state);
/* Reads until a limit, the end or a failure; fills the report. */
int receive_transfer(struct receive_state *state);
/* What the streams brought, into the report; after they have ended. */
void receive_report_make(struct receive_state *state);
/* Sends the report and waits until the sender has taken it. */
void receive_deliver(struct receive_state *state);
/* The table for people; only when reported. */
void receive_tell(const struct receive_state *state, FILE *file);
/* The session as JSON; the caller deletes it. */
cJSON *receive_report(const struct receive_state *state);

#endif
