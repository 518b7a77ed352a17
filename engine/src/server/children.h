/* The processes of a server's sessions. */
#ifndef LANDSPEED_SERVER_CHILDREN_H
#define LANDSPEED_SERVER_CHILDREN_H

#include "base/failure.h"
#include "net/net.h"

#include <sys/types.h>

#define CHILDREN_LIMIT 64

struct child {
	pid_t pid;
	int report_fd; /* a byte: the session leaves; the end: the process has gone */
	bool leaving;
	bool gone;
	struct address address;
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

/* As fork(); *report_fd is the child's end. The child dies with its parent. */
pid_t children_fork(struct children *children, const struct address *address, int *report_fd,
		    struct failure *failure);
/* Which of them leave. */
void children_look(struct children *children);
/* Forgets those that have gone. */
void children_reap(struct children *children, struct children_fates *fates);
/* Those that have not said that they leave. */
unsigned children_serving(const struct children *children);
/* Those of that host, or of its /64. */
unsigned children_of_site(const struct children *children, const struct address *address);
void children_signal(const struct children *children, int signal);
/* Kills and waits for what is left. */
void children_end(struct children *children);
/* In a child: these are its parent's. */
void children_forget(struct children *children);

#endif
