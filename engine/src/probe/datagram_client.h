/* The client's side of datagrams: it sends them. */
#pragma once

#include "send/send.h"

struct datagram_run {
	struct send_state *link; /* the session: control connection, secret, failure */
	int fd;
	int event_fd;
	_Atomic bool stopping;
	_Atomic uint64_t sent;
	_Atomic int error;
	unsigned batch;    /* datagrams of one call (UDP_SEGMENT); 1: one by one */
	uint64_t together; /* datagrams between two rests; UINT64_MAX: it never rests */
	uint64_t duration_ns;
	cJSON *told; /* what the server counted; NULL: it told nothing */
};

/* The server has granted it: sends until the time is over. -1 with the link's failure set. */
int datagram_run(struct datagram_run *run);
/* The result as JSON; the caller deletes it. */
cJSON *datagram_report(const struct datagram_run *run);
/* A line for people on standard error. */
void datagram_summary(const struct datagram_run *run);
void datagram_release(struct datagram_run *run);
