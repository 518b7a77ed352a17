#include "tuning.h"

#include <algorithm>
#include <ns3/config.h>
#include <ns3/uinteger.h>
#include <sstream>
#include <stdexcept>

namespace landspeed
{

namespace
{

constexpr uint32_t ahead_bytes = 8 << 20;
/// Linux waits 63 s for what ends a handshake; who waits for longer, as the guest is told, tries
/// for longer (landspeed/worlds/emu/guest/network/network.py).
constexpr int64_t syn_waits_ns = 60'000'000'000;
constexpr uint32_t syn_tries = 7, many_tries = 21;

} // namespace

void check_tcp(const Plan &plan)
{
	const auto known = CongestionControls();
	for (size_t i = 0; i < plan.flows.size(); i++) {
		const std::string &asked = plan.flows[i].transfer.congestion_control;
		if (std::find(known.begin(), known.end(), asked) != known.end())
			continue;
		std::ostringstream told;
		told << "flows[" << i << "].transfer.congestion_control: ns-3 has no '" << asked
		     << "', only";
		for (const auto &name : known)
			told << (&name == &known.front() ? " " : ", ") << name;
		told << "; the emulated world (--world emu) may have it";
		throw PlanError(told.str());
	}
}

namespace
{

bool passes(const Flow &flow, size_t link)
{
	const auto there = [&](const Step &step) { return step.link == link; };
	return std::any_of(flow.route.begin(), flow.route.end(), there) ||
	       std::any_of(flow.back.begin(), flow.back.end(), there);
}

bool shares_a_link(const Plan &plan, const Flow &flow)
{
	return std::any_of(plan.flows.begin(), plan.flows.end(), [&](const Flow &other) {
		if (&other == &flow)
			return false;
		const auto shared = [&](const Step &step) { return passes(other, step.link); };
		return std::any_of(flow.route.begin(), flow.route.end(), shared) ||
		       std::any_of(flow.back.begin(), flow.back.end(), shared);
	});
}

} // namespace

TcpGrant tcp_settle(const Plan &plan, const Flow &flow)
{
	const Transfer &transfer = flow.transfer;
	TcpSettings settings;
	settings.congestion_control = transfer.congestion_control;
	settings.mss_bytes = plan.mss_bytes(flow);
	settings.window_bytes = transfer.window_bytes;
	settings.pacing_rate_bps = transfer.pacing_rate_bps;
	settings.ecn = transfer.ecn;
	// The emulated hosts have fq. Linux's HyStart asks whether it paces, and gives a train of
	// acknowledgments twice the time then. The pacing itself is left out where a flow has its
	// links to itself: acknowledgments and the host's own line clock what is sent, and the
	// timers would cost up to a fifth more. Where flows share a queue, how their packets lie
	// between each other decides which are lost, and with that the shares.
	const std::optional<bool> paced = plan.nodes[flow.source].paced;
	settings.hystart_paced = paced.value_or(true);
	settings.paced = paced.value_or(shares_a_link(plan, flow));
	TcpGrant grant = SetTcpDefaults(settings);
	if (transfer.window_exact && transfer.window_bytes) {
		grant.receive_window_bytes = static_cast<uint32_t>(*transfer.window_bytes);
		ns3::Config::SetDefault("ns3::TcpSocket::RcvBufSize",
					ns3::UintegerValue(grant.receive_window_bytes));
		ns3::Config::SetDefault("landspeed::TcpSocket::AcknowledgedSingly",
					ns3::UintegerValue(AcknowledgedSingly(
					    grant.receive_window_bytes, grant.receive_window_bytes,
					    settings.mss_bytes)));
	}
	if (transfer.initial_window_packets)
		ns3::Config::SetDefault("ns3::TcpSocket::InitialCwnd",
					ns3::UintegerValue(*transfer.initial_window_packets));
	ns3::Config::SetDefault(
	    "ns3::TcpSocket::ConnCount",
	    ns3::UintegerValue(transfer.stall_ns > syn_waits_ns ? many_tries : syn_tries));
	// What the program writes ahead is not to take room from what is in flight.
	grant.send_buffer_bytes =
	    std::max(grant.send_buffer_bytes, grant.receive_window_bytes) + ahead_bytes;
	ns3::Config::SetDefault("ns3::TcpSocket::SndBufSize",
				ns3::UintegerValue(grant.send_buffer_bytes));
	return grant;
}

HostQueue host_queue(uint32_t mss_bytes, const Network::Ends &ends)
{
	const uint64_t rate_bps = ends.sender_lane->config().rate_bps;
	const uint64_t millisecond_bytes = rate_bps / 8 / 1000 / ends.streams_there;
	const uint64_t packet_bytes = mss_bytes;
	if (millisecond_bytes > 6 * packet_bytes)
		return HostQueue{millisecond_bytes, millisecond_bytes / 2};
	return HostQueue{6 * packet_bytes, 4 * packet_bytes};
}

} // namespace landspeed
