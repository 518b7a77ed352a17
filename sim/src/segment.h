// A part of the path that takes one event of the simulator per packet: one lane, or several joined.
#pragma once

#include "frame.h"
#include "lane.h"
#include "ring.h"

#include <memory>
#include <ns3/event-id.h>
#include <ns3/event-impl.h>
#include <queue>
#include <vector>

namespace landspeed
{

/// Lanes one after another, of which only the first may queue, drop for want of room or disorder.
class Segment : public Hop
{
public:
	Segment(std::vector<std::unique_ptr<Lane>> lanes, Hop &next);
	~Segment() override;
	void take(Frame frame) override;
	[[nodiscard]] const std::vector<std::unique_ptr<Lane>> &lanes() const
	{
		return lanes_;
	}

private:
	/// One event of the simulator, used again and again: at any time only the next arrival is
	/// scheduled.
	class Arrival : public ns3::EventImpl
	{
	public:
		explicit Arrival(Segment &segment) : segment_(segment)
		{
		}

	private:
		void Notify() override
		{
			segment_.deliver();
		}
		Segment &segment_;
	};

	struct Pending {
		int64_t at_ns = 0;
		uint64_t order = 0;
		Frame frame;
		bool
		operator<(const Pending &other) const // std::priority_queue has the largest first
		{
			return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
		}
	};

	void send(int64_t now_ns, Frame frame);
	void deliver();
	void schedule(int64_t now_ns, int64_t at_ns);

	std::vector<std::unique_ptr<Lane>> lanes_;
	Hop &next_;
	bool disorders_;
	ns3::Ptr<Arrival> arrival_;
	Ring<Pending> in_order_;
	std::priority_queue<Pending> by_time_; ///< instead, where packets overtake
	uint64_t order_ = 0;
	int64_t scheduled_ns_ = INT64_MAX;
	ns3::EventId event_;
};

} // namespace landspeed
