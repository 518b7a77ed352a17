// Lanes that can never queue, proved from the plan, and how lanes are joined into segments.
#pragma once

#include "lane.h"
#include "plan.h"

#include <string>
#include <vector>

namespace landspeed
{

/// What becomes of one lane, and why; for the record.
struct Joining {
	bool joined = false; ///< into the segment of the lane before it
	std::string why;
};

/// All lanes of one way along the path, the sending host's own limit first. `can_queue` is proved
/// anew for each, from what is in force (hosts' limits and events included).
std::vector<LaneConfig> lanes_of(const Plan &plan, bool forward);

/// For each lane whether it may be joined with the one before it.
std::vector<Joining> joinings_of(const std::vector<LaneConfig> &lanes);

} // namespace landspeed
