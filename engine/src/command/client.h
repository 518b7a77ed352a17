/* One run of a client: what `send` and `get` share. */
#ifndef LANDSPEED_COMMAND_CLIENT_H
#define LANDSPEED_COMMAND_CLIENT_H

#include "options/options.h"

/* The whole session, its result and its exit status. `root`: where files go that come; or -1. */
int client_run(const struct options *options, int root);

#endif
