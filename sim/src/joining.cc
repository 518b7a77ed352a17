#include "joining.h"

#include <algorithm>

namespace landspeed
{

namespace
{

/// A host's own limit, the slower of its network interface and its bus: it makes what is sent wait.
LaneConfig host_lane(const Plan &plan, bool forward)
{
	const Node &node = forward ? plan.nodes.front() : plan.nodes.back();
	const Link &link = forward ? plan.links.front() : plan.links.back();
	LaneConfig lane;
	lane.name = "host " + node.name;
	lane.forward = forward;
	lane.rate_bps =
	    node.nic_rate_bps.value_or((forward ? link.forward : link.reverse).rate_bps);
	lane.framing_bytes = link.framing_bytes;
	lane.mtu_bytes = plan.mtu_bytes();
	lane.spaces_only = true;
	return lane;
}

/// A bus moves IP packets without framing. It rules where it is slower for full-size packets.
void apply_bus(LaneConfig &lane, const Node &node, uint32_t mtu_bytes)
{
	if (!node.bus_rate_bps)
		return;
	const auto line = static_cast<double>(mtu_bytes + lane.framing_bytes) /
			  static_cast<double>(lane.rate_bps);
	const auto bus = static_cast<double>(mtu_bytes) / static_cast<double>(*node.bus_rate_bps);
	if (bus <= line)
		return;
	lane.rate_bps = *node.bus_rate_bps;
	lane.framing_bytes = 0;
	lane.name += ", bus of " + node.name;
}

LaneConfig link_lane(const Plan &plan, size_t index, bool forward)
{
	const Link &link = plan.links[index];
	const Direction &direction = forward ? link.forward : link.reverse;
	LaneConfig lane;
	static_cast<Direction &>(lane) = direction;
	lane.name = "link " + std::to_string(index + 1) + " (" + (forward ? link.a : link.b) +
		    " to " + (forward ? link.b : link.a) + ")";
	lane.link = static_cast<int>(index);
	lane.forward = forward;
	lane.framing_bytes = link.framing_bytes;
	lane.mtu_bytes = link.mtu_bytes;
	for (const auto &event : plan.events)
		if (event.link == index && (forward ? event.forward : event.reverse))
			lane.events.push_back(event);
	return lane;
}

/// A rate that everything arriving has been spaced out to.
struct Bound {
	uint64_t rate_bps;
	uint32_t framing_bytes;
};

/// Whether a packet of this size takes at least as long at the bound as on the lane.
bool covers(const Bound &bound, const LaneConfig &lane, uint64_t rate_bps, uint32_t bytes)
{
	return Wide{bytes + lane.framing_bytes} * bound.rate_bps <=
	       Wide{bytes + bound.framing_bytes} * rate_bps;
}

/// Proves where nothing queues (beyond the end of the packet before): some rate passed before gives
/// every size of packet at least the time that it takes here. Both times are linear in the size, so
/// that the smallest and the largest decide. A lane that can queue packs packets together again,
/// and one that respaces does so too: only its own rate, or nothing, bounds what comes after it.
void prove(std::vector<LaneConfig> &lanes, uint32_t least_bytes, uint32_t most_bytes)
{
	std::vector<Bound> bounds;
	for (auto &lane : lanes) {
		const Timeline rates = lane.rates();
		const auto slowest = static_cast<uint64_t>(rates.least());
		const bool alone = !lane.has_event(EventKind::background);
		const bool proved =
		    alone && lane.discipline == Discipline::fifo && lane.link >= 0 &&
		    std::any_of(bounds.begin(), bounds.end(), [&](const Bound &bound) {
			    return covers(bound, lane, slowest, least_bytes) &&
				   covers(bound, lane, slowest, most_bytes);
		    });
		lane.can_queue = !proved;
		if (!proved || lane.respaces() || lane.duplicate > 0)
			bounds.clear();
		if (!lane.respaces() && lane.duplicate <= 0)
			bounds.push_back({static_cast<uint64_t>(rates.most()), lane.framing_bytes});
	}
}

} // namespace

std::vector<LaneConfig> lanes_of(const Plan &plan, bool forward)
{
	std::vector<LaneConfig> lanes;
	const Node &source = forward ? plan.nodes.front() : plan.nodes.back();
	const Node &target = forward ? plan.nodes.back() : plan.nodes.front();
	lanes.push_back(host_lane(plan, forward));
	apply_bus(lanes.back(), source, plan.mtu_bytes());
	const size_t count = plan.links.size();
	for (size_t i = 0; i < count; i++)
		lanes.push_back(link_lane(plan, forward ? i : count - 1 - i, forward));
	apply_bus(lanes.back(), target, plan.mtu_bytes());
	prove(lanes, plan.ip_version == 6 ? 60 : 40, plan.mtu_bytes());
	return lanes;
}

std::vector<Joining> joinings_of(const std::vector<LaneConfig> &lanes)
{
	std::vector<Joining> found;
	bool after_managed = false;
	for (const auto &lane : lanes) {
		Joining joining;
		if (lane.link < 0)
			joining.why = "where packets are sent";
		else if (lane.discipline != Discipline::fifo)
			joining.why = "its queue is managed";
		else if (lane.has_event(EventKind::background))
			joining.why = "background traffic shares it";
		else if (lane.can_queue)
			joining.why = "it can queue: nothing before it is proved to be as slow";
		else if (lane.respaces())
			joining.why = "its delay varies";
		else if (lane.duplicate > 0)
			joining.why = "it duplicates";
		else if (after_managed)
			joining.why = "the queue before it is managed";
		else
			joining = {true,
				   "it cannot queue: a rate passed before it gives every packet at "
				   "least the time that it takes here"};
		after_managed = lane.discipline != Discipline::fifo;
		found.push_back(std::move(joining));
	}
	return found;
}

} // namespace landspeed
