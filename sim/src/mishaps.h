// What the plan's events do to a direction of a link over time.
#pragma once

#include "line.h"
#include "plan/plan.h"
#include "random.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace landspeed
{

/// A value that a trace or events change: a rate, a delay, a chance.
class Timeline
{
public:
	explicit Timeline(int64_t base) : base_(base)
	{
	}

	/// Follow these values of a trace, in place of the base; none: it has no such values.
	void follow(const Trace &trace, const std::vector<int64_t> &values);

	/// `value` from `at_ns` on, for good (`end_ns` INT64_MAX) or until `end_ns`. Where two
	/// overlap, the one that began later rules.
	void change(int64_t at_ns, int64_t end_ns, int64_t value);
	/// Times count from here.
	void begin(int64_t start_ns);
	[[nodiscard]] int64_t least() const;
	[[nodiscard]] int64_t most() const;
	[[nodiscard]] bool changes() const
	{
		return !spans_.empty() || traced();
	}

	[[nodiscard]] bool traced() const
	{
		return !values_.empty();
	}

	/// The value at a time; times must not go back.
	int64_t at(int64_t time_ns)
	{
		while (next_ < steps_.size() && steps_[next_].at_ns <= time_ns)
			current_ = steps_[next_++];
		while (time_ns >= place_ends_ns_)
			next_place();
		return current_.rules ? current_.value : base_;
	}

	/// When the value may change next, after the time that was asked for last.
	[[nodiscard]] int64_t changes_ns() const
	{
		const int64_t step_ns = next_ < steps_.size() ? steps_[next_].at_ns : INT64_MAX;
		return std::min(step_ns, place_ends_ns_);
	}

private:
	struct Span {
		int64_t at_ns, end_ns, value;
	};
	struct Step {
		int64_t at_ns = 0, value = 0;
		bool rules = false; ///< else the base holds
	};

	void next_place();

	int64_t base_; ///< of a trace: as it is now
	Step current_;
	std::vector<Span> spans_;
	std::vector<Step> steps_; ///< empty before begin()
	size_t next_ = 0;
	std::vector<int64_t> times_, values_; ///< of the trace
	int64_t lasts_ns_ = INT64_MAX;        ///< INT64_MAX: it does not loop
	int64_t turn_ns_ = 0;                 ///< when its present turn began
	size_t place_ = 0;                    ///< in the trace, the next one
	int64_t place_ends_ns_ = INT64_MAX;   ///< when that one begins
};

/// Sends on a line whose rate changes: when the last bit has left. An event's rate takes effect
/// with the next packet; along a trace, what is being sent goes on at the new rate.
int64_t send_changing(LineClock &line, Timeline &rates, int64_t arrival_ns, uint32_t bytes);

/// Packets that an event of the plan has lost, or sent as background traffic.
struct EventCount {
	size_t index = 0;
	uint64_t packets = 0;
};

/// Losses by chance and by event, at the entrance of a direction of a link.
class Mishaps
{
public:
	explicit Mishaps(const Direction &direction);

	void add(const Event &event);
	void begin(int64_t start_ns);
	/// Whether the packet that enters now is lost; times must not go back.
	bool strikes(int64_t time_ns, Random &random);
	/// What is left of a packet and its copy that enter now, and how many drops count.
	struct OfTwo {
		int left, drops;
	};
	/// As netem does: a loss takes the copy; else the copy may be lost for itself. What an
	/// event takes for certain is gone with its copy.
	OfTwo strike_two(int64_t time_ns, Random &random);
	/// How many packets each event has taken.
	[[nodiscard]] std::vector<EventCount> counts() const;

private:
	struct Window {
		int64_t at_ns, end_ns;
		uint64_t packets; ///< that it still takes
		double probability;
		EventCount taken;
	};

	Losses losses_;
	Timeline traced_; ///< the chance of a loss in 10^-15, where a trace says it
	std::vector<Window> windows_;
	bool begun_ = false;
	bool certain_ = false; ///< that an event took the last one, whatever chance said
};

/// Unresponsive traffic that shares a link: packets of one size at a constant rate.
class Background
{
public:
	Background(const Event &event, uint32_t packet_bytes);
	void begin(int64_t start_ns);
	/// When the next packet comes; INT64_MAX: none any more.
	[[nodiscard]] int64_t next_ns() const
	{
		return next_ns_;
	}
	void advance();
	[[nodiscard]] uint32_t packet_bytes() const
	{
		return packet_bytes_;
	}
	/// How many packets have come.
	[[nodiscard]] EventCount count() const
	{
		return {index_, count_};
	}

private:
	size_t index_; ///< of the event
	int64_t at_ns_, end_ns_;
	uint64_t rate_bps_;
	uint32_t packet_bytes_;
	uint64_t count_ = 0;
	int64_t next_ns_ = INT64_MAX;
};

} // namespace landspeed
