/* The processes of a server's sessions. */
#pragma once

#include "base/failure.h"
#include "net/net.h"

#include <sys/types.h>

#define CHILDREN_LIMIT 64

/* Receive windows of connections that are waited for. */
struct windows {
	uint64_t largest_bytes; /* that was asked for; 0: none was */
	bool autotuned;         /* some are */
};

struct child {
	pid_t pid;
	int channel; /* control/channel.h; its end: the process has gone */
	bool leaving;
	bool gone;
	struct address address;
	struct in6_addr site;
	uint32_t session;       /* its number, which its data connections tell */
	unsigned awaits;        /* of them, as many at once */
	bool endless;           /* they go on to come: a new one for each round trip */
	struct windows windows; /* that they shall offer */
};

/* How those ended that have gone; what is set stays set. */
struct children_fates {
	bool failed;
	bool cut_short; /* by a signal, or they broke */
};

struct children {
	unsigned count;
	struct child list[CHILDREN_LIMIT];
};

/*
 * As fork(), for that session; *channel is the child's end. The child dies with its parent. Where
 * there are too many, one goes that is over but for its farewell.
 */
pid_t children_fork(struct children *children, const struct child *session, int *channel,
		    struct failure *failure);
/* What they have said: which have all their connections, or leave. */
void children_look(struct children *children);
/* The same, if sessions of that site were waiting at the last look: what they have by now makes no
 * room. */
void children_look_again(struct children *children, const struct in6_addr *site);
/* Forgets those that have gone. */
void children_reap(struct children *children, struct children_fates *fates);
/* Those that have not said that they leave. */
unsigned children_serving(const struct children *children);
unsigned children_of_site(const struct children *children, const struct in6_addr *site);
/* Data connections that sessions of that site wait for. */
unsigned children_awaiting(const struct children *children, const struct in6_addr *site);
/* The session of that number, if it waits for data connections from that host; or NULL. */
const struct child *children_find(const struct children *children, uint32_t session,
				  const struct address *address);
struct windows windows_join(struct windows a, struct windows b);
/* Those of all connections that are waited for. */
struct windows children_windows(const struct children *children);
void children_signal(const struct children *children, int signal);
/* Kills and waits for what is left. */
void children_end(struct children *children);
/* In a child: these are its parent's. */
void children_forget(struct children *children);
