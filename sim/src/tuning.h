// TCP's settings for a flow, as Linux would have them.
#pragma once

#include "network.h"
#include "plan/plan.h"

#include <mend/mend.h>

#include <cstdint>

namespace landspeed
{

/// Refuses what ns-3 cannot honour. Throws PlanError.
void check_tcp(const Plan &plan);

/// Sets ns-3's defaults for every node and socket made from now on.
TcpGrant tcp_settle(const Plan &plan, const Flow &flow);

/// What a stream may have waiting in its own host: a millisecond of the host's rate, shared
/// equally, as with Linux's TCP small queues over fq; never less than four packets.
uint64_t host_queue_bytes(uint32_t mtu_bytes, const Network::Ends &ends);

} // namespace landspeed
