// How many segments leave at once.
#pragma once

#include <ns3/tcp-socket-state.h>

#include <algorithm>
#include <cstdint>

namespace landspeed
{

// Linux paces super-packets of a millisecond or two segments (tcp_tso_autosize, tcp_min_tso_segs,
// bbr_min_tso_segs). Where the rate is measured (BBR) that is part of what is measured: the
// shortest round trip of a path is that of the second of two.
inline uint32_t BurstSegments(const ns3::TcpSocketState &tcb)
{
	constexpr uint64_t few_bps = 1'200'000, most_bytes = 65'535;
	const uint64_t rate_bps = tcb.m_pacingRate.Get().GetBitRate();
	const uint64_t bytes = std::min(rate_bps / 8 / 1024, most_bytes);
	return std::max(static_cast<uint32_t>(bytes / tcb.m_segmentSize),
			rate_bps < few_bps ? 1U : 2U);
}

} // namespace landspeed
