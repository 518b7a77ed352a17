/* The server's side of a session: it reads, sends, or both. */
#pragma once

#include "receive/receive.h"
#include "send/send.h"

struct served_session {
	struct receive_state *receive; /* the session, whatever the direction */
	struct send_state send;        /* what we send; where the client reads */
	struct options options;        /* of that */
};

/* What can be told of it before anything is connected; `root` is where files are handed out. */
int served_session_prepare(struct served_session *session, cJSON *request, int root);
/* All connections are there: from here to the end of each direction. */
int served_session_run(struct served_session *session);
/* The result as JSON; the caller deletes it. */
cJSON *served_session_report(const struct served_session *session);
/* What the client has to hear yet: what we read, or our account of what we sent. */
void served_session_deliver(struct served_session *session);
void served_session_release(struct served_session *session);
