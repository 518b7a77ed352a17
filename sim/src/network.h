// The simulated network: the two ends of each flow, and the lanes between them, in segments.
#pragma once

#include "host.h"
#include "layout.h"
#include "segment.h"

#include <memory>
#include <vector>

namespace landspeed
{

/// Where ways part: each frame goes on along its own.
class Junction : public Hop
{
public:
	explicit Junction(std::vector<Hop *> next) : next_(std::move(next))
	{
	}
	void take(Frame frame) override
	{
		next_[frame.way]->take(std::move(frame));
	}

private:
	std::vector<Hop *> next_; ///< by way; null: it does not come here
};

class Network
{
public:
	/// With `collapse`, lanes that can never queue become part of the segment before them.
	Network(const Plan &plan, const Layout &layout, bool collapse);

	/// The first flow begins now: the plan's events count from here.
	void begin(int64_t start_ns);

	/// What a flow begins and ends at.
	struct Ends {
		Host sender, receiver;
		const Lane *sender_lane = nullptr; ///< the sending host's own
		uint32_t streams_there = 0;        ///< of all flows that send through it
	};

	struct LaneInfo {
		LaneConfig config;
		Joining joining;
		LaneState *lane = nullptr;
	};

	std::vector<Ends> ends;      ///< of each flow
	std::vector<LaneInfo> lanes; ///< in the layout's order

private:
	void make_lane(const Plan &plan, size_t index);
	void make_segments(const Layout &layout);
	void connect(const Layout &layout);

	std::vector<std::unique_ptr<Lane>> bare_; ///< lanes that are in no segment yet
	std::vector<std::unique_ptr<Part>> parts_;
	std::vector<Part *> part_of_; ///< the segment or managed lane that a lane is in
	std::vector<std::unique_ptr<Junction>> junctions_;
};

} // namespace landspeed
