#include "tuning.h"

#include "joining.h"

#include <algorithm>
#include <ns3/config.h>
#include <ns3/uinteger.h>
#include <stdexcept>

namespace landspeed
{

namespace
{

constexpr uint32_t ahead_bytes = 8 << 20;

} // namespace

void check_tcp(const Plan &plan)
{
	const auto known = CongestionControls();
	const std::string &asked = plan.transfer.congestion_control;
	if (std::find(known.begin(), known.end(), asked) == known.end()) {
		std::string names;
		for (const auto &name : known)
			names += (names.empty() ? "" : ", ") + name;
		throw PlanError("transfer.congestion_control: ns-3 has no '" + asked + "', only " +
				names + "; the emulated world (--world emu) may have it");
	}
	if (!MendsAreInForce())
		throw std::logic_error(
		    "this build of ns-3 does not let its TCP buffers be replaced; build it "
		    "without link-time optimisation");
}

TcpGrant tcp_settle(const Plan &plan)
{
	TcpSettings settings;
	settings.congestion_control = plan.transfer.congestion_control;
	settings.mss_bytes = plan.mss_bytes();
	settings.window_bytes = plan.transfer.window_bytes;
	settings.pacing_rate_bps = plan.transfer.pacing_rate_bps;
	// The emulated hosts have fq. Linux's HyStart asks whether it paces, and gives a train of
	// acknowledgments twice the time then. The pacing itself is left out: acknowledgments and
	// the host's own line clock what is sent, and a timer for each packet would cost a third
	// more.
	settings.hystart_paced = true;
	TcpGrant grant = SetTcpDefaults(settings);
	if (plan.transfer.window_exact && plan.transfer.window_bytes) {
		grant.receive_window_bytes = static_cast<uint32_t>(*plan.transfer.window_bytes);
		ns3::Config::SetDefault("ns3::TcpSocket::RcvBufSize",
					ns3::UintegerValue(grant.receive_window_bytes));
	}
	if (plan.transfer.initial_window_packets)
		ns3::Config::SetDefault("ns3::TcpSocket::InitialCwnd",
					ns3::UintegerValue(*plan.transfer.initial_window_packets));
	// What the program writes ahead is not to take room from what is in flight.
	grant.send_buffer_bytes =
	    std::max(grant.send_buffer_bytes, grant.receive_window_bytes) + ahead_bytes;
	ns3::Config::SetDefault("ns3::TcpSocket::SndBufSize",
				ns3::UintegerValue(grant.send_buffer_bytes));
	return grant;
}

uint64_t host_queue_bytes(const Plan &plan)
{
	const uint64_t rate_bps = lanes_of(plan, true).front().rate_bps;
	return std::max(uint64_t{4} * plan.mtu_bytes(),
			rate_bps / 8 / 1000 / plan.transfer.streams);
}

} // namespace landspeed
