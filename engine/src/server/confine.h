/* What the server gives up once its port is open: root, and the system calls that it never makes.
 */
#pragma once

#include "base/failure.h"

#include <stdbool.h>
#include <sys/types.h>

struct confined_user {
	const char *name; /* NULL: none */
	uid_t uid;
	gid_t gid;
};

/* -1 with the failure set when there is no such user, or this process may not become it. */
int confine_user_find(const char *name, struct confined_user *user, struct failure *failure);
/* Becomes that user for good; there is one thread only. */
int confine_user(const struct confined_user *user, struct failure *failure);
/*
 * From now on, in all sessions too, the kernel has the calls only that a server makes (seccomp(2)):
 * all others fail as on a kernel without them. `runs`: other programs too, for third parties. False
 * where the kernel has no such filters, and in a build with sanitizers.
 */
bool confine_calls(bool runs);
