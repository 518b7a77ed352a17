/* What multipath TCP says of a connection: all of its subflows as one. */
#pragma once

#include "net/tcpinfo.h"

/*
 * Counts and windows are sums over the subflows, bytes are those of the data itself (what went
 * twice counts once), and the rest is what the first subflow says; `subflows` is 0 when none is
 * left. False for a connection without MPTCP, or before Linux 6.5.
 */
bool multipath_info_read(int fd, struct tcp_info *info);
