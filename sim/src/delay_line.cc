#include "delay_line.h"

#include <ns3/simulator.h>

namespace landspeed
{

DelayLine::DelayLine(bool disorders) : disorders_(disorders), arrival_(ns3::Create<Arrival>(*this))
{
}

void DelayLine::put(int64_t now_ns, int64_t due_ns, Frame frame)
{
	if (disorders_) {
		by_time_.push({{due_ns, std::move(frame)}, order_++});
		if (due_ns < scheduled_ns_)
			schedule(now_ns, due_ns);
		return;
	}
	const bool first = in_order_.empty();
	in_order_.push({due_ns, std::move(frame)});
	if (first)
		schedule(now_ns, due_ns);
}

void DelayLine::schedule(int64_t now_ns, int64_t due_ns)
{
	if (scheduled_ns_ != INT64_MAX) {
		// Overtaken: this event goes, another one of its kind comes.
		event_.Cancel();
		arrival_ = ns3::Create<Arrival>(*this);
	}
	scheduled_ns_ = due_ns;
	event_ = ns3::Simulator::Schedule(ns3::NanoSeconds(due_ns - now_ns), arrival_);
}

void DelayLine::deliver()
{
	const int64_t now_ns = scheduled_ns_;
	scheduled_ns_ = INT64_MAX;
	Frame frame;
	if (disorders_) {
		frame = by_time_.top().frame;
		by_time_.pop();
		if (!by_time_.empty())
			schedule(now_ns, by_time_.top().due_ns);
	} else {
		frame = std::move(in_order_.front().frame);
		in_order_.pop();
		if (!in_order_.empty())
			schedule(now_ns, in_order_.front().due_ns);
	}
	next_->take(std::move(frame));
}

} // namespace landspeed
