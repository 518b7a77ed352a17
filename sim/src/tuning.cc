#include "tuning.h"

#include "joining.h"

#include <algorithm>
#include <ns3/boolean.h>
#include <ns3/config.h>
#include <ns3/data-rate.h>
#include <ns3/nstime.h>
#include <ns3/uinteger.h>

namespace landspeed
{

using namespace ns3;

namespace
{

constexpr uint64_t skb_overhead_bytes = 1024; ///< charged by Linux beside a packet's payload
constexpr uint64_t largest_window_bytes = uint64_t{65535} << 14; ///< RFC 7323 section 2.3
constexpr uint32_t initial_window_packets = 10;                  ///< RFC 6928
constexpr uint64_t unsent_bytes = 8 << 20;                       ///< kept ready beyond the window

unsigned bit_length(uint64_t value)
{
	unsigned length = 0;
	for (; value != 0; value >>= 1)
		length++;
	return length;
}

} // namespace

Tuning tuning_of(const Plan &plan)
{
	Tuning tuning;
	tuning.receive_buffer_bytes = largest_window_bytes;
	if (plan.transfer.window_bytes) {
		const uint64_t asked = *plan.transfer.window_bytes, mss = plan.mss_bytes();
		const uint64_t usable = 2 * asked * mss / (mss + skb_overhead_bytes);
		const unsigned bits = bit_length(asked);
		const unsigned scale = bits > 16 ? std::min(14U, bits - 16) : 0;
		tuning.receive_buffer_bytes = std::min(
		    {largest_window_bytes, uint64_t{65535} << scale, std::max(asked, usable)});
	}
	tuning.send_buffer_bytes =
	    std::min<uint64_t>(tuning.receive_buffer_bytes + unsent_bytes, UINT32_MAX / 2);
	return tuning;
}

uint64_t host_queue_bytes(const Plan &plan)
{
	const uint64_t rate_bps = lanes_of(plan, true).front().rate_bps;
	return std::max(uint64_t{4} * plan.mtu_bytes(),
			rate_bps / 8 / 1000 / plan.transfer.streams);
}

void tuning_apply(const Plan &plan, const Tuning &tuning)
{
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(plan.mss_bytes()));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize",
			   UintegerValue(static_cast<uint32_t>(tuning.receive_buffer_bytes)));
	Config::SetDefault("ns3::TcpSocket::SndBufSize",
			   UintegerValue(static_cast<uint32_t>(tuning.send_buffer_bytes)));
	Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(initial_window_packets));
	Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
	Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
	Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
	const uint64_t pacing_bps =
	    plan.transfer.pacing_rate_bps.value_or(uint64_t{1'000'000'000'000});
	Config::SetDefault("ns3::TcpSocketState::MaxPacingRate",
			   DataRateValue(DataRate(pacing_bps)));
	if (plan.transfer.pacing_rate_bps)
		Config::SetDefault("ns3::TcpSocketState::EnablePacing", BooleanValue(true));
}

} // namespace landspeed
