// A part of the network that takes one event of the simulator per packet: one lane, or several
// joined.
#pragma once

#include "delay_line.h"
#include "frame.h"
#include "lane.h"

#include <memory>
#include <vector>

namespace landspeed
{

/// Lanes one after another, of which only the first may queue, drop for want of room or disorder.
class Segment : public Part
{
public:
	explicit Segment(std::vector<std::unique_ptr<Lane>> lanes);
	void take(Frame frame) override;
	void lead_to(Hop &next) override
	{
		way_.lead_to(next);
	}

private:
	void send(int64_t now_ns, Frame frame, bool spared);

	std::vector<std::unique_ptr<Lane>> lanes_;
	DelayLine way_;
};

} // namespace landspeed
