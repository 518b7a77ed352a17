/* One run of a client: what `send` and `get` share. */
#pragma once

#include "options/options.h"

/* The whole session, its result and its exit status. `root`: where files go that come; or -1. */
int client_run(const struct options *options, int root);
