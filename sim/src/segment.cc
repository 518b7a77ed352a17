#include "segment.h"

#include <ns3/simulator.h>

namespace landspeed
{

Segment::Segment(std::vector<std::unique_ptr<Lane>> lanes, Hop &next)
    : lanes_(std::move(lanes)), next_(next), disorders_(lanes_.front()->config().disorders()),
      arrival_(ns3::Create<Arrival>(*this))
{
}

Segment::~Segment() = default;

void Segment::take(Frame frame)
{
	const int64_t now_ns = ns3::Simulator::Now().GetNanoSeconds();
	if (lanes_.front()->duplicates()) {
		Frame copy = frame;
		if (copy.packet)
			copy.packet = copy.packet->Copy();
		send(now_ns, std::move(copy));
	}
	send(now_ns, std::move(frame));
}

void Segment::send(int64_t now_ns, Frame frame)
{
	int64_t at_ns = now_ns;
	for (const auto &lane : lanes_)
		if (!lane->pass(now_ns, at_ns, frame, at_ns))
			return;
	if (disorders_) {
		by_time_.push({at_ns, order_++, std::move(frame)});
		if (at_ns < scheduled_ns_)
			schedule(now_ns, at_ns);
	} else {
		const bool first = in_order_.empty();
		in_order_.push({at_ns, 0, std::move(frame)});
		if (first)
			schedule(now_ns, at_ns);
	}
}

void Segment::schedule(int64_t now_ns, int64_t at_ns)
{
	if (scheduled_ns_ != INT64_MAX) {
		// Overtaken: this event goes, another one of its kind comes.
		event_.Cancel();
		arrival_ = ns3::Create<Arrival>(*this);
	}
	scheduled_ns_ = at_ns;
	event_ = ns3::Simulator::Schedule(ns3::NanoSeconds(at_ns - now_ns), arrival_);
}

void Segment::deliver()
{
	const int64_t now_ns = scheduled_ns_;
	scheduled_ns_ = INT64_MAX;
	Frame frame;
	if (disorders_) {
		frame = by_time_.top().frame;
		by_time_.pop();
		if (!by_time_.empty())
			schedule(now_ns, by_time_.top().at_ns);
	} else {
		frame = std::move(in_order_.front().frame);
		in_order_.pop();
		if (!in_order_.empty())
			schedule(now_ns, in_order_.front().at_ns);
	}
	next_.take(std::move(frame));
}

} // namespace landspeed
