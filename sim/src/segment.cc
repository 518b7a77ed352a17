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
	if (lanes_.front()->duplicates())
		send(now_ns, frame.copy());
	send(now_ns, std::move(frame));
}

void Segment::send(int64_t now_ns, Frame frame)
{
	int64_t at_ns = now_ns;
	for (const auto &lane : lanes_)
		if (!lane->pass(now_ns, at_ns, frame, at_ns))
			return;
	way_.put(now_ns, at_ns, std::move(frame));
}

} // namespace landspeed
