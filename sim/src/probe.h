// The calibration: what a small packet takes along a flow's idle path, hop by hop.
#pragma once

#include "layout.h"

#include <cstdint>
#include <vector>

namespace landspeed
{

struct HopTime {
	int ttl = 0;                ///< links passed to it
	size_t node = 0;            ///< index in the plan
	int64_t rtt_ns = 0;         ///< an echo of `probe_bytes` there and back
	int64_t propagation_ns = 0; ///< of it, the plan's delays
};

/// An ordinary ping: IP header, ICMP 8, 56 of payload.
constexpr uint32_t probe_bytes(int ip_version)
{
	return (ip_version == 6 ? 40 : 20) + 8 + 56;
}

/// Echoes to every node of a flow from its sender (or, reversed, from its receiver) that is also
/// on the way of its answers, sent through
/// lanes made as the transfer's are, without their losses, jitter and events, one at a time. The
/// times are those at which the lanes say that the echo arrives: exact, not sampled.
std::vector<HopTime> probe_hops(const Plan &plan, const Layout &layout, size_t flow,
				bool from_sender);

/// Bits per second of IP packets of full size at which a train of them arrives at the far end.
double probe_rate_bps(const Plan &plan, const Layout &layout, size_t flow, bool ahead);

} // namespace landspeed
