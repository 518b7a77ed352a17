// One direction of a link: losses at the entrance, a queue limited in bytes, the line, the delay.
#pragma once

#include "frame.h"
#include "line.h"
#include "mishaps.h"

#include <cstdint>
#include <mend/ring.h>
#include <string>
#include <vector>

namespace landspeed
{

/// What a lane is made of: a direction of the plan, or a host's own limit, and what its place says
/// of it. Everything in it is in force; what is not wanted is zero.
struct LaneConfig : Direction, Framing {
	std::string name; ///< for messages
	int link = -1;    ///< index in the plan; -1: a host's own limit, which is no link
	bool forward = true;
	uint32_t mtu_bytes = 0;
	uint32_t packet_bytes = 0; ///< the largest IP packet that a flow sends over it
	/// It only keeps packets apart, as a token bucket does: one is handed on when its turn
	/// begins. The line of the host's link is what it takes time to send on.
	bool spaces_only = false;
	std::vector<Event> events;

	/// By chance or by event, packets may arrive in another order than they came in.
	[[nodiscard]] bool disorders() const;
	/// By chance or by event, packets may arrive closer together than they left the line.
	[[nodiscard]] bool respaces() const;
	/// Events of this kind are planned.
	[[nodiscard]] bool has_event(EventKind kind) const;
	/// The rate as the events change it.
	[[nodiscard]] Timeline rates() const;
	/// The delay as the events change it.
	[[nodiscard]] Timeline delays() const;
	[[nodiscard]] Mishaps mishaps() const;
	[[nodiscard]] std::vector<Background> background() const;
};

/// What has happened on a lane up to a time.
struct LaneCounters {
	/// That have left the line; bytes of IP packets, where it pads, of the line.
	uint64_t bytes = 0, packets = 0;
	uint64_t drops = 0; ///< lost at the entrance or for want of room
	uint64_t backlog_bytes = 0, backlog_packets = 0; ///< waiting for the line
	uint64_t marks = 0;                              ///< marked instead of dropped
};

/// What every kind of lane can be asked.
class LaneState
{
public:
	LaneState() = default;
	LaneState(const LaneState &) = delete;
	LaneState &operator=(const LaneState &) = delete;
	virtual ~LaneState() = default;
	/// The transfer begins: the events' times count from here.
	virtual void begin(int64_t start_ns) = 0;
	/// What has happened until `now_ns`, which must be the simulator's time.
	virtual LaneCounters count(int64_t now_ns) = 0;
	/// What the plan's events have done here.
	[[nodiscard]] virtual std::vector<EventCount> event_counts() const = 0;
};

/// A lane whose packets keep their times: when a packet enters, it is known when it will leave.
///
/// The queue is first in, first out, and the plan's events are known beforehand, so that no event
/// of the simulator is needed between a packet's arrival here and its arrival at the far end.
class Lane : public LaneState
{
public:
	explicit Lane(LaneConfig config);

	[[nodiscard]] const LaneConfig &config() const
	{
		return config_;
	}

	void begin(int64_t start_ns) override;

	/// A packet enters at `enters_ns`, which may lie ahead of the simulator's `now_ns` (in a
	/// joined lane). Entrances must not go back in time. False: it is lost; else `arrives_ns`
	/// is set. `spared`: no chance and no event takes it any more.
	bool pass(int64_t now_ns, int64_t enters_ns, Frame &frame, int64_t &arrives_ns,
		  bool spared = false);

	/// Whether this packet comes out twice.
	bool duplicates()
	{
		return fate_.duplicates(random_);
	}

	/// How many are left of it and of its copy, which enter now.
	int left_of_two(int64_t now_ns);

	/// When all that has entered so far will have left.
	[[nodiscard]] int64_t free_ns() const
	{
		return line_.free_ns();
	}

	LaneCounters count(int64_t now_ns) override;
	[[nodiscard]] std::vector<EventCount> event_counts() const override;

private:
	struct Passage {
		int64_t starts_ns = 0, leaves_ns = 0;
		uint32_t bytes = 0, counted = 0; ///< of the IP packet; as counters have it
	};

	bool enqueue(int64_t now_ns, int64_t enters_ns, uint32_t bytes, int64_t &leaves_ns);
	void run_background(int64_t now_ns, int64_t until_ns);
	void settle(int64_t now_ns);
	void start_until(int64_t time_ns);
	[[noreturn]] void proof_broken(int64_t waits_ns) const;

	LaneConfig config_;
	LineClock line_;
	Timeline rates_, delays_;
	Mishaps mishaps_;
	std::vector<Background> background_;
	Random random_;
	bool checks_queue_;
	int64_t most_wait_ns_;   ///< what a queue of the planned size could make a packet wait
	Ring<Passage> passages_; ///< entered and not yet counted
	uint64_t started_ = 0;   ///< position of the first passage that may still wait
	uint64_t waiting_bytes_ = 0, waiting_counted_ = 0;
	Fate fate_;
	Ring<int64_t> drop_times_;
	LaneCounters counters_;
};

} // namespace landspeed
