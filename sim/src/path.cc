#include "path.h"

#include "managed_lane.h"

#include <algorithm>

namespace landspeed
{

Path::Path(const Plan &plan, bool collapse)
{
	const auto mtu = static_cast<uint16_t>(plan.mtu_bytes());
	sender = host_make(plan.ip_version, mtu, true);
	receiver = host_make(plan.ip_version, mtu, false);
	sender.device->set_path(build_way(plan, true, collapse, *receiver.device));
	receiver.device->set_path(build_way(plan, false, collapse, *sender.device));
}

/// Lanes from the source to the target, built from there back; returns where the source's packets
/// enter.
Hop &Path::build_way(const Plan &plan, bool forward, bool collapse, Hop &target)
{
	const auto configs = lanes_of(plan, forward);
	const auto joinings = joinings_of(configs);
	std::vector<LaneInfo> infos;
	std::vector<std::unique_ptr<Lane>> group; // the lanes of a segment, the last one first
	Hop *next = &target;
	for (size_t i = configs.size(); i-- > 0;) {
		const Joining joining{joinings[i].joined && collapse, joinings[i].why};
		if (configs[i].discipline != Discipline::fifo) {
			auto lane =
			    std::make_unique<ManagedLane>(configs[i], plan.ip_version, *next);
			infos.push_back({configs[i], joining, lane.get()});
			next = lane.get();
			hops_.push_back(std::move(lane));
			continue;
		}
		group.push_back(std::make_unique<Lane>(configs[i]));
		infos.push_back({configs[i], joining, group.back().get()});
		if (i == 0)
			host_lanes_[forward ? 0 : 1] = group.back().get();
		if (joining.joined)
			continue;
		std::reverse(group.begin(), group.end());
		hops_.push_back(std::make_unique<Segment>(std::move(group), *next));
		next = hops_.back().get();
		group.clear();
	}
	lanes.insert(lanes.end(), infos.rbegin(), infos.rend());
	return *next;
}

void Path::begin(int64_t start_ns)
{
	for (auto &info : lanes)
		info.lane->begin(start_ns);
}

} // namespace landspeed
