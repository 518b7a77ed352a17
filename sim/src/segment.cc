#include "segment.h"

#include <ns3/simulator.h>

namespace landspeed
{

Segment::Segment(std::vector<std::unique_ptr<Lane>> lanes)
    : lanes_(std::move(lanes)), way_(lanes_.front()->config().disorders())
{
}

void Segment::take(Frame frame)
{
	const int64_t now_ns = ns3::Simulator::Now().GetNanoSeconds();
	Lane &first = *lanes_.front();
	if (!first.duplicates()) {
		send(now_ns, std::move(frame), false);
		return;
	}
	const int left = first.left_of_two(now_ns);
	if (left > 1)
		send(now_ns, frame.copy(), true);
	if (left > 0)
		send(now_ns, std::move(frame), true);
}

void Segment::send(int64_t now_ns, Frame frame, bool spared)
{
	int64_t at_ns = now_ns;
	for (const auto &lane : lanes_) {
		if (!lane->pass(now_ns, at_ns, frame, at_ns, spared))
			return;
		spared = false;
	}
	way_.put(now_ns, at_ns, std::move(frame));
}

} // namespace landspeed
