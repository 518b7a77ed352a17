// A lane whose queue one of ns-3's queue disciplines manages: RED, CoDel, PIE, and these two for
// each flow.
#pragma once

#include "delay_line.h"
#include "lane.h"

#include <ns3/queue-disc.h>

namespace landspeed
{

/// What leaves is decided when the line is free, so that each packet takes two events: it has been
/// sent, it arrives.
class ManagedLane : public Part, public LaneState
{
public:
	ManagedLane(LaneConfig config, int ip_version);
	void take(Frame frame) override;
	void lead_to(Hop &next) override
	{
		way_.lead_to(next);
	}
	void begin(int64_t start_ns) override;
	LaneCounters count(int64_t now_ns) override;
	[[nodiscard]] std::vector<EventCount> event_counts() const override;

private:
	class Item;

	void enqueue(int64_t now_ns, Frame frame);
	void send_next();
	void sent(Frame frame);
	void background(size_t index);

	LaneConfig config_;
	int ip_version_;
	LineClock line_;
	Timeline rates_, delays_;
	Mishaps mishaps_;
	std::vector<Background> background_;
	Random random_;
	ns3::Ptr<ns3::QueueDisc> queue_;
	DelayLine way_;
	Fate fate_;
	bool sending_ = false;
	LaneCounters counters_; ///< drops: those at the entrance
};

} // namespace landspeed
