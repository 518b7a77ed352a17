// A part of the path that takes one event of the simulator per packet: one lane, or several joined.
#pragma once

#include "delay_line.h"
#include "frame.h"
#include "lane.h"

#include <memory>
#include <vector>

namespace landspeed
{

/// Lanes one after another, of which only the first may queue, drop for want of room or disorder.
class Segment : public Hop
{
public:
	Segment(std::vector<std::unique_ptr<Lane>> lanes, Hop &next);
	void take(Frame frame) override;

private:
	void send(int64_t now_ns, Frame frame);

	std::vector<std::unique_ptr<Lane>> lanes_;
	DelayLine way_;
};

} // namespace landspeed
