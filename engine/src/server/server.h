/*
 * The server: one loop that greets clients and decides, one process per session. A process of its
 * own keeps accounts of processor time and of memory apart, and takes nobody along when it breaks;
 * nothing of it can be left behind.
 */
#pragma once

#include "control/admission.h"
#include "options/options.h"
#include "server/client.h"
#include "server/confine.h"

/* In the process of the session. */
struct server_session {
	const struct options *options;
	struct client *client; /* authenticated, with its request */
	int root;              /* the directory that files go to; -1: none are taken */
	int serve_root;        /* the one that they are handed out of; -1: none are */
	int channel;           /* to the server's loop */
	uint32_t number;       /* of the session, which its data connections tell */
	bool shares;           /* they come to the server's port; else to one of their own */
};

struct server_plan {
	const struct options *options;
	struct key *key;           /* NULL: none */
	struct confined_user user; /* to become */
	int root;                  /* as in the session */
	int serve_root;
	struct admission admission;
	/* The whole session; its exit status. */
	int (*serve)(const struct server_session *session);
	/* The one session of --one-off did not come to be; `signal` ended the waiting. */
	void (*unserved)(const struct options *options, int signal);
};

/* 0, or EXIT_FAILED with the failure set or told. */
int server_run(const struct server_plan *plan, struct failure *failure);
/* The session is over but for its farewell: the next client may be served. */
void server_session_leave(const struct server_session *session);
