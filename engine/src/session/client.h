/* The client's side of a session: who sends, who reads, and the result of both. */
#pragma once

#include "receive/receive.h"
#include "send/send.h"

#include <stdio.h>

struct client_session {
	struct send_state *send;      /* the run of `send`, whatever the direction */
	struct receive_state receive; /* what we read; where the server sends */
	int root;                     /* the directory that files go to; -1: none */
	cJSON *account;               /* the server's of what it sent; NULL: none came */
};

/* All connections are there: from here to the results, or to what came instead. */
int client_session_run(struct client_session *session);
/* The result as JSON; the caller deletes it. */
cJSON *client_session_report(const struct client_session *session);
/* Totals, tables and verdicts for people. */
void client_session_tell(const struct client_session *session, FILE *file);
/* Lines for people on standard error. */
void client_session_summary(const struct client_session *session);
void client_session_release(struct client_session *session);
