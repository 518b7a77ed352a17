#include "path.h"

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

/// Lanes from the source to the target; returns where the source's packets enter.
Hop &Path::build_way(const Plan &plan, bool forward, bool collapse, Hop &target)
{
	auto configs = lanes_of(plan, forward);
	auto joinings = joinings_of(configs);
	std::vector<std::vector<std::unique_ptr<Lane>>> groups;
	for (size_t i = 0; i < configs.size(); i++) {
		auto lane = std::make_unique<Lane>(configs[i]);
		joinings[i].joined = joinings[i].joined && collapse;
		lanes.push_back({configs[i], joinings[i], lane.get()});
		if (!joinings[i].joined)
			groups.emplace_back();
		groups.back().push_back(std::move(lane));
	}
	Hop *next = &target;
	for (size_t i = groups.size(); i-- > 0;) {
		hops_.push_back(std::make_unique<Segment>(std::move(groups[i]), *next));
		next = hops_.back().get();
	}
	return *next;
}

const Lane &Path::host_lane(bool forward) const
{
	return *lanes[forward ? 0 : lanes.size() / 2].lane;
}

void Path::begin(int64_t start_ns)
{
	for (auto &info : lanes)
		info.lane->begin(start_ns);
}

} // namespace landspeed
