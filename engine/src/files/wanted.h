/* The paths that a client asks a server for, as a request has them. */
#pragma once

#include "base/failure.h"
#include "base/json.h"

#define WANTED_LIMIT 1000

/* The member "paths" of a request. */
void wanted_add(cJSON *request, char *const *paths, unsigned count);
/*
 * The paths are the message's; `paths` has room for WANTED_LIMIT. Names that change nothing are
 * left out: "./run" is "run", "run/." is "run/". -1 with the failure set, also for the same path
 * twice: to walk it twice would cost only this host.
 */
int wanted_take(cJSON *request, char **paths, unsigned *count, struct failure *failure);
/* Could an entry of that path come of these? A server sends what was asked for, and no more. */
bool wanted_has(char *const *paths, unsigned count, const char *path);
