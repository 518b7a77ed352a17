// TCP's settings for a flow, as Linux would have them.
#pragma once

#include "network.h"
#include "plan/plan.h"
#include "stream_socket.h"

#include <mend/mend.h>

#include <cstdint>

namespace landspeed
{

/// Refuses what ns-3 cannot honour. Throws PlanError.
void check_tcp(const Plan &plan);

/// Sets ns-3's defaults for every node and socket made from now on.
TcpGrant tcp_settle(const Plan &plan, const Flow &flow);

/// What a stream may have in its own host: a millisecond of the host's rate, shared equally, as
/// with Linux's TCP small queues over fq. Never less than six packets, filled up when four are
/// left: Linux sends two packets as one buffer at least, lets two buffers wait behind the one
/// that is being sent (tcp_small_queue_check in net/ipv4/tcp_output.c), and then the next.
HostQueue host_queue(uint32_t mss_bytes, const Network::Ends &ends);

} // namespace landspeed
