/* The client's side of round trips. */
#pragma once

#include "probe/histogram.h"
#include "send/send.h"

struct trip_stream;

struct trip_run {
	struct send_state *link; /* the session: connections, secret, failure */
	struct trip_stream *streams;
	uint64_t duration_ns;
	uint64_t answered; /* as the server counts; once told */
	bool told;
};

/* All connections are there: measures until the time is over. -1 with the link's failure set. */
int trip_run(struct trip_run *run);
/* The result as JSON; the caller deletes it. */
cJSON *trip_report(const struct trip_run *run);
/* A line for people on standard error. */
void trip_summary(const struct trip_run *run);
void trip_release(struct trip_run *run);
