#include "network.h"

#include "managed_lane.h"

#include <algorithm>
#include <map>

namespace landspeed
{

Network::Network(const Plan &plan, const Layout &layout, bool collapse)
{
	for (size_t flow = 0; flow < plan.flows.size(); flow++) {
		const auto mtu = static_cast<uint16_t>(plan.mtu_bytes(plan.flows[flow]));
		const auto ahead = static_cast<uint16_t>(2 * flow);
		Ends &made = ends.emplace_back();
		made.sender = host_make(plan.ip_version, mtu, ahead);
		made.receiver = host_make(plan.ip_version, mtu, ahead + 1);
	}
	const auto joinings = layout.joinings();
	for (size_t i = 0; i < layout.lanes.size(); i++)
		lanes.push_back(
		    {layout.lanes[i], {joinings[i].joined && collapse, joinings[i].why}, nullptr});
	bare_.resize(lanes.size());
	part_of_.resize(lanes.size());
	// Each way from its far end: ns-3 numbers its random variables as they are made.
	for (const auto &way : layout.ways)
		for (auto lane = way.rbegin(); lane != way.rend(); ++lane)
			make_lane(plan, *lane);
	for (size_t lane = 0; lane < lanes.size(); lane++)
		make_lane(plan, lane);
	for (size_t flow = 0; flow < ends.size(); flow++) {
		const size_t first = layout.way(flow, true).front();
		ends[flow].sender_lane = bare_[first].get();
		for (size_t other = 0; other < ends.size(); other++)
			if (layout.way(other, true).front() == first)
				ends[flow].streams_there += plan.flows[other].transfer.streams;
	}
	make_segments(layout);
	connect(layout);
}

void Network::make_lane(const Plan &plan, size_t index)
{
	LaneInfo &info = lanes[index];
	if (info.lane != nullptr)
		return;
	if (info.config.discipline == Discipline::fifo) {
		bare_[index] = std::make_unique<Lane>(info.config);
		info.lane = bare_[index].get();
		return;
	}
	auto lane = std::make_unique<ManagedLane>(info.config, plan.ip_version);
	info.lane = lane.get();
	part_of_[index] = lane.get();
	parts_.push_back(std::move(lane));
}

/// A lane that is not joined begins a segment, in which those follow that are joined with it.
void Network::make_segments(const Layout &layout)
{
	std::vector<std::vector<size_t>> groups;
	std::vector<size_t> group_of(lanes.size());
	for (size_t lane = 0; lane < lanes.size(); lane++) {
		if (!bare_[lane])
			continue;
		if (!lanes[lane].joining.joined)
			groups.emplace_back();
		group_of[lane] = lanes[lane].joining.joined ? group_of[*layout.only_before(lane)]
							    : groups.size() - 1;
		groups[group_of[lane]].push_back(lane);
	}
	for (const auto &group : groups) {
		std::vector<std::unique_ptr<Lane>> joined;
		joined.reserve(group.size());
		for (const size_t lane : group)
			joined.push_back(std::move(bare_[lane]));
		parts_.push_back(std::make_unique<Segment>(std::move(joined)));
		for (const size_t lane : group)
			part_of_[lane] = parts_.back().get();
	}
}

/// Leads every part to what comes next on the ways through it.
void Network::connect(const Layout &layout)
{
	std::map<Part *, std::vector<Hop *>> nexts; // by way
	for (size_t i = 0; i < layout.ways.size(); i++) {
		const Way &way = layout.ways[i];
		Ends &own = ends[i / 2];
		HostDevice &source = *(i % 2 == 0 ? own.sender : own.receiver).device;
		HostDevice &target = *(i % 2 == 0 ? own.receiver : own.sender).device;
		source.set_way_out(*part_of_[way.front()]);
		for (size_t place = 0; place < way.size(); place++) {
			Part *part = part_of_[way[place]];
			const bool last = place + 1 == way.size();
			if (!last && part_of_[way[place + 1]] == part)
				continue;
			auto &by_way = nexts[part];
			by_way.resize(i + 1);
			by_way[i] = last ? static_cast<Hop *>(&target) : part_of_[way[place + 1]];
		}
	}
	for (const auto &[part, by_way] : nexts) {
		Hop *one = by_way.back();
		if (!std::all_of(by_way.begin(), by_way.end(),
				 [one](Hop *next) { return next == nullptr || next == one; }))
			one = junctions_.emplace_back(std::make_unique<Junction>(by_way)).get();
		part->lead_to(*one);
	}
}

void Network::begin(int64_t start_ns)
{
	for (auto &info : lanes)
		info.lane->begin(start_ns);
}

} // namespace landspeed
