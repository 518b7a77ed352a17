/* The other end of `third-party`: this host sends for a client. */
#pragma once

#include "server/server.h"

/* At host A, in the process of the session: runs `send` and returns its result to the client. */
int third_party_serve(const struct server_session *session);
