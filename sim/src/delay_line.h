// Frames on their way to the next hop, each due at its time.
#pragma once

#include "frame.h"

#include <cstdint>
#include <mend/ring.h>
#include <ns3/event-id.h>
#include <ns3/event-impl.h>
#include <queue>

namespace landspeed
{

/// Hands each frame to the next hop when it is due. However many are under way, one event of the
/// simulator waits.
class DelayLine
{
public:
	/// `disorders`: a frame may be due before one that was put in earlier.
	explicit DelayLine(bool disorders);

	/// Where frames are handed to.
	void lead_to(Hop &next)
	{
		next_ = &next;
	}
	void put(int64_t now_ns, int64_t due_ns, Frame frame);

private:
	/// Used again and again: the simulator neither makes nor frees an event for a frame.
	class Arrival : public ns3::EventImpl
	{
	public:
		explicit Arrival(DelayLine &line) : line_(line)
		{
		}

	private:
		void Notify() override
		{
			line_.deliver();
		}
		DelayLine &line_;
	};

	struct Due {
		int64_t due_ns = 0;
		Frame frame;
	};

	struct Pending : Due {
		uint64_t order = 0;
		bool
		operator<(const Pending &other) const // std::priority_queue has the largest first
		{
			return due_ns != other.due_ns ? due_ns > other.due_ns : order > other.order;
		}
	};

	void deliver();
	void schedule(int64_t now_ns, int64_t due_ns);

	Hop *next_ = nullptr;
	bool disorders_;
	ns3::Ptr<Arrival> arrival_;
	Ring<Due> in_order_;
	std::priority_queue<Pending> by_time_; ///< instead, where frames overtake
	uint64_t order_ = 0;
	int64_t scheduled_ns_ = INT64_MAX;
	ns3::EventId event_;
};

} // namespace landspeed
