// The simulated path: two hosts, and in each direction the lanes between them, in segments.
#pragma once

#include "host.h"
#include "joining.h"
#include "plan.h"
#include "segment.h"

#include <array>
#include <memory>
#include <vector>

namespace landspeed
{

class Path
{
public:
	/// Builds both ways. With `collapse`, lanes that can never queue become part of the segment
	/// before them.
	Path(const Plan &plan, bool collapse);

	/// The transfer begins now: the plan's events count from here.
	void begin(int64_t start_ns);

	/// The own lane of the host that sends this way.
	[[nodiscard]] const Lane &host_lane(bool forward) const
	{
		return *host_lanes_[forward ? 0 : 1];
	}

	struct LaneInfo {
		LaneConfig config;
		Joining joining;
		LaneState *lane = nullptr;
	};

	Host sender, receiver;
	std::vector<LaneInfo>
	    lanes; ///< forward from sender to receiver, then reverse from receiver to sender

private:
	Hop &build_way(const Plan &plan, bool forward, bool collapse, Hop &target);
	std::vector<std::unique_ptr<Hop>> hops_;
	std::array<const Lane *, 2> host_lanes_{}; ///< the sender's, the receiver's
};

} // namespace landspeed
