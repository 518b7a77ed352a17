// Every lane of a plan, the ways of its flows through them, where nothing can ever queue, and which
// lanes are joined into one segment.
#pragma once

#include "lane.h"
#include "plan/plan.h"

#include <set>
#include <string>
#include <vector>

namespace landspeed
{

/// What becomes of one lane, and why; for the record.
struct Joining {
	bool joined = false; ///< into the segment of the lane before it
	std::string why;
};

/// Lanes that a flow's packets pass, by index: the sending host's own limit first.
using Way = std::vector<size_t>;

class Layout
{
public:
	/// `can_queue` is proved anew for each lane, from what is in force (hosts' limits and
	/// events included).
	explicit Layout(const Plan &plan);

	/// What a flow sends (`ahead`), or what is answered.
	[[nodiscard]] const Way &way(size_t flow, bool ahead) const
	{
		return ways[2 * flow + (ahead ? 0 : 1)];
	}
	/// The lane that every packet has left when it comes to this one; none: there are several,
	/// or it is where packets are sent.
	[[nodiscard]] std::optional<size_t> only_before(size_t lane) const;
	/// Whether every packet that leaves `before` goes on to `lane`, and no other does.
	[[nodiscard]] bool in_a_row(size_t before, size_t lane) const;
	/// For each lane whether it may be joined with the one before it.
	[[nodiscard]] std::vector<Joining> joinings() const;

	std::vector<LaneConfig> lanes; ///< way by way, then those that no flow passes
	std::vector<Way> ways;         ///< of flow i: 2 i what it sends, 2 i + 1 what is answered

private:
	void add_way(const Plan &plan, const Flow &flow, bool ahead);
	void prove(size_t lane, uint32_t least_bytes);
	[[nodiscard]] Joining joining_of(size_t lane) const;

	/// A rate that everything arriving has been spaced out to.
	struct Bound {
		uint64_t rate_bps;
		uint32_t framing_bytes;
	};

	static bool covers(const Bound &bound, const LaneConfig &lane, uint64_t rate_bps,
			   uint32_t bytes);

	/// Lanes before and behind each lane; where a way ends there, lanes.size() + the way.
	std::vector<std::set<size_t>> before_, behind_;
	std::vector<std::vector<Bound>> leaving_; ///< what bounds all that leaves each lane
};

} // namespace landspeed
