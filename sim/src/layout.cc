#include "layout.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace landspeed
{

namespace
{

/// Largest IP packet that a flow's ends send over a link.
uint32_t packet_bytes(const Plan &plan, size_t link)
{
	uint32_t most = 0;
	for (const auto &flow : plan.flows)
		for (const bool ahead : {true, false})
			for (const auto &step : ahead ? flow.route : flow.back)
				if (step.link == link)
					most = std::max(most, plan.mtu_bytes(flow, ahead));
	return most > 0 ? most : plan.links[link].mtu_bytes;
}

/// The node that sends into a link.
const Node &sender_of(const Plan &plan, const Step &step)
{
	return plan.nodes[plan.end({step.link, !step.ahead})];
}

/// A bus moves IP packets without framing. It rules where it is slower for full-size packets.
void apply_bus(LaneConfig &lane, const Node &node)
{
	if (!node.bus_rate_bps)
		return;
	const auto line = static_cast<double>(lane.line_bytes(lane.packet_bytes)) /
			  static_cast<double>(lane.rate_bps);
	const auto bus =
	    static_cast<double>(lane.packet_bytes) / static_cast<double>(*node.bus_rate_bps);
	if (bus <= line)
		return;
	lane.rate_bps = *node.bus_rate_bps;
	static_cast<Framing &>(lane) = {};
	lane.name += ", bus of " + node.name;
}

/// A host's own limit, the slower of its network interface and its bus: it makes what is sent wait.
LaneConfig host_lane(const Plan &plan, const Step &step)
{
	const Node &node = sender_of(plan, step);
	const Link &link = plan.links[step.link];
	const auto links =
	    std::count_if(plan.links.begin(), plan.links.end(), [&](const Link &each) {
		    return &plan.nodes[each.a] == &node || &plan.nodes[each.b] == &node;
	    });
	LaneConfig lane;
	lane.name = "host " + node.name;
	if (links > 1)
		lane.name += " (to link " + std::to_string(step.link + 1) + ")";
	lane.forward = step.ahead;
	lane.rate_bps =
	    node.nic_rate_bps.value_or((step.ahead ? link.forward : link.reverse).rate_bps);
	static_cast<Framing &>(lane) = static_cast<const Framing &>(link);
	lane.mtu_bytes = lane.packet_bytes = packet_bytes(plan, step.link);
	lane.spaces_only = true;
	apply_bus(lane, node);
	return lane;
}

LaneConfig link_lane(const Plan &plan, const Step &step)
{
	const Link &link = plan.links[step.link];
	const Node &target = plan.nodes[plan.end(step)];
	LaneConfig lane;
	static_cast<Direction &>(lane) = step.ahead ? link.forward : link.reverse;
	lane.name = "link " + std::to_string(step.link + 1) + " (" + sender_of(plan, step).name +
		    " to " + target.name + ")";
	lane.link = static_cast<int>(step.link);
	lane.forward = step.ahead;
	static_cast<Framing &>(lane) = static_cast<const Framing &>(link);
	lane.mtu_bytes = link.mtu_bytes;
	lane.packet_bytes = packet_bytes(plan, step.link);
	for (const auto &event : plan.events)
		if (event.link == step.link && (step.ahead ? event.forward : event.reverse))
			lane.events.push_back(event);
	apply_bus(lane, target);
	return lane;
}

} // namespace

Layout::Layout(const Plan &plan)
{
	/// Where a lane stands: the host's own limit or not, the link, its direction.
	using Place = std::tuple<bool, size_t, bool>;
	std::map<Place, size_t> known;
	const auto lane_at = [&](const Step &step, bool host) {
		const auto [found, is_new] =
		    known.try_emplace({host, step.link, step.ahead}, lanes.size());
		if (is_new)
			lanes.push_back(host ? host_lane(plan, step) : link_lane(plan, step));
		return found->second;
	};
	for (const auto &flow : plan.flows)
		for (const auto &steps : {flow.route, flow.back}) {
			Way &way = ways.emplace_back(Way{lane_at(steps.front(), true)});
			for (const auto &step : steps)
				way.push_back(lane_at(step, false));
		}
	for (size_t link = 0; link < plan.links.size(); link++)
		for (const bool ahead : {true, false})
			(void)lane_at({link, ahead}, false);
	before_.resize(lanes.size());
	behind_.resize(lanes.size());
	leaving_.resize(lanes.size());
	for (size_t i = 0; i < ways.size(); i++) {
		for (size_t place = 1; place < ways[i].size(); place++) {
			before_[ways[i][place]].insert(ways[i][place - 1]);
			behind_[ways[i][place - 1]].insert(ways[i][place]);
		}
		behind_[ways[i].back()].insert(lanes.size() + i);
	}
	// The only lane before one is on every way to it, so it has the lower index.
	for (size_t lane = 0; lane < lanes.size(); lane++)
		prove(lane, plan.ip_version == 6 ? 60 : 40);
}

std::optional<size_t> Layout::only_before(size_t lane) const
{
	return before_[lane].size() == 1 ? std::optional<size_t>(*before_[lane].begin())
					 : std::nullopt;
}

bool Layout::in_a_row(size_t before, size_t lane) const
{
	return only_before(lane) == before && behind_[before].size() == 1;
}

/// Whether a packet of this size takes at least as long at the bound as on the lane.
bool Layout::covers(const Bound &bound, const LaneConfig &lane, uint64_t rate_bps, uint32_t bytes)
{
	return Wide{bytes + lane.framing_bytes} * bound.rate_bps <=
	       Wide{bytes + bound.framing_bytes} * rate_bps;
}

/// Proves that nothing queues (beyond the end of the packet before): some rate passed before gives
/// every size of packet at least the time that it takes here. Both times are linear in the size, so
/// that the smallest and the largest decide. A lane that can queue packs packets together again,
/// and one that respaces does so too: only its own rate, or nothing, bounds what comes after it.
/// One that duplicates sends more than arrives. Where packets come from several lanes, nothing
/// bounds them together.
void Layout::prove(size_t index, uint32_t least_bytes)
{
	LaneConfig &lane = lanes[index];
	const auto before = only_before(index);
	auto bounds = before ? leaving_[*before] : std::vector<Bound>();
	const Timeline rates = lane.rates();
	const auto slowest = static_cast<uint64_t>(rates.least());
	const bool alone = !lane.has_event(EventKind::background) && lane.duplicate <= 0;
	const bool proved = alone && lane.discipline == Discipline::fifo && lane.link >= 0 &&
			    std::any_of(bounds.begin(), bounds.end(), [&](const Bound &bound) {
				    return covers(bound, lane, slowest, least_bytes) &&
					   covers(bound, lane, slowest, lane.packet_bytes);
			    });
	lane.can_queue = !proved;
	if (!proved || lane.respaces() || lane.duplicate > 0)
		bounds.clear();
	if (!lane.respaces() && lane.duplicate <= 0)
		bounds.push_back({static_cast<uint64_t>(rates.most()), lane.framing_bytes});
	leaving_[index] = std::move(bounds);
}

std::vector<Joining> Layout::joinings() const
{
	std::vector<Joining> found;
	found.reserve(lanes.size());
	for (size_t lane = 0; lane < lanes.size(); lane++)
		found.push_back(joining_of(lane));
	return found;
}

Joining Layout::joining_of(size_t index) const
{
	const LaneConfig &lane = lanes[index];
	const auto before = only_before(index);
	if (lane.link < 0)
		return {false, "where packets are sent"};
	if (before_[index].empty())
		return {false, "no flow passes it"};
	if (lane.discipline != Discipline::fifo)
		return {false, "its queue is managed"};
	if (lane.has_event(EventKind::background))
		return {false, "background traffic shares it"};
	if (lane.duplicate > 0)
		return {false, "it duplicates"};
	if (lane.can_queue)
		return {false, before ? "it can queue: nothing before it is proved to be as slow"
				      : "it can queue: flows meet before it"};
	if (lane.respaces())
		return {false, "its delay varies"};
	if (lane.netem)
		return {false, "it holds a number of packets"};
	if (lanes[*before].discipline != Discipline::fifo)
		return {false, "the queue before it is managed"};
	if (!in_a_row(*before, index))
		return {false, "flows part before it"};
	return {true, "it cannot queue: a rate passed before it gives every packet at least the "
		      "time that it takes here"};
}

} // namespace landspeed
