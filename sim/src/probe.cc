#include "probe.h"

#include <algorithm>
#include <memory>

namespace landspeed
{

namespace
{

/// Lanes of one way that do nothing but take their time.
std::vector<LaneConfig> bare_lanes(const Layout &layout, size_t flow, bool ahead)
{
	std::vector<LaneConfig> lanes;
	for (const size_t index : layout.way(flow, ahead)) {
		LaneConfig &lane = lanes.emplace_back(layout.lanes[index]);
		static_cast<Impairments &>(lane) = {};
		lane.trace = {};
		lane.events.clear();
		lane.queue_bytes = UINT64_MAX;
	}
	return lanes;
}

/// When a packet that enters the lanes [first, last) at `now_ns` has passed them.
int64_t cross(std::vector<LaneConfig>::const_iterator first,
	      std::vector<LaneConfig>::const_iterator last, uint32_t bytes, int64_t now_ns)
{
	for (; first != last; ++first) {
		Lane lane(*first);
		Frame frame{nullptr, bytes};
		lane.pass(now_ns, now_ns, frame, now_ns);
	}
	return now_ns;
}

} // namespace

std::vector<HopTime> probe_hops(const Plan &plan, const Layout &layout, size_t flow,
				bool from_sender)
{
	const auto there = bare_lanes(layout, flow, from_sender),
		   back = bare_lanes(layout, flow, !from_sender);
	const Flow &asked = plan.flows[flow];
	const auto &route = from_sender ? asked.route : asked.back;
	const auto &returns = from_sender ? asked.back : asked.route;
	const auto links = static_cast<std::ptrdiff_t>(route.size());
	const uint32_t bytes = probe_bytes(plan.ip_version);
	std::vector<HopTime> found;
	for (std::ptrdiff_t hop = 1; hop <= links; hop++) {
		HopTime time;
		time.ttl = static_cast<int>(hop);
		time.node = plan.end(route[hop - 1]);
		const auto before =
		    std::find_if(returns.begin(), returns.end(), [&](const Step &step) {
			    return plan.end({step.link, !step.ahead}) == time.node;
		    });
		if (before == returns.end())
			continue; // what it answers takes another way
		const auto left = returns.end() - before;
		// The first lane of each way is the host's own; a router answers without one.
		int64_t now_ns = cross(there.begin(), there.begin() + 1 + hop, bytes, 0);
		if (hop == links)
			now_ns = cross(back.begin(), back.begin() + 1, bytes, now_ns);
		time.rtt_ns = cross(back.end() - left, back.end(), bytes, now_ns);
		for (std::ptrdiff_t i = 0; i < hop; i++)
			time.propagation_ns += (there.begin() + 1 + i)->delay_ns;
		for (std::ptrdiff_t i = 0; i < left; i++)
			time.propagation_ns += (back.end() - 1 - i)->delay_ns;
		found.push_back(time);
	}
	return found;
}

double probe_rate_bps(const Plan &plan, const Layout &layout, size_t flow, bool ahead)
{
	constexpr int packets = 1000;
	std::vector<std::unique_ptr<Lane>> lanes;
	const uint32_t bytes = plan.mtu_bytes(plan.flows[flow], ahead);
	for (const auto &config : bare_lanes(layout, flow, ahead))
		lanes.push_back(std::make_unique<Lane>(config));
	int64_t first_ns = 0, last_ns = 0;
	for (int i = 0; i < packets; i++) {
		int64_t now_ns = 0;
		for (const auto &lane : lanes) {
			Frame frame{nullptr, bytes};
			lane->pass(0, now_ns, frame, now_ns);
		}
		(i == 0 ? first_ns : last_ns) = now_ns;
	}
	return static_cast<double>(packets - 1) * bytes * 8e9 /
	       static_cast<double>(last_ns - first_ns);
}

} // namespace landspeed
