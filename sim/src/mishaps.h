// What the plan's events do to a direction of a link over time.
#pragma once

#include "plan.h"
#include "random.h"

#include <cstdint>
#include <vector>

namespace landspeed
{

/// A value that events change: a rate or a delay.
class Timeline
{
public:
	explicit Timeline(int64_t base) : base_(base)
	{
	}

	/// `value` from `at_ns` on, for good (`end_ns` INT64_MAX) or until `end_ns`. Where two
	/// overlap, the one that began later rules.
	void change(int64_t at_ns, int64_t end_ns, int64_t value);
	/// Times count from here.
	void begin(int64_t start_ns);
	[[nodiscard]] int64_t least() const;
	[[nodiscard]] int64_t most() const;
	[[nodiscard]] bool changes() const
	{
		return !spans_.empty();
	}

	/// The value at a time; times must not go back.
	int64_t at(int64_t time_ns)
	{
		while (next_ < steps_.size() && steps_[next_].at_ns <= time_ns)
			current_ = steps_[next_++].value;
		return current_;
	}

private:
	struct Span {
		int64_t at_ns, end_ns, value;
	};
	struct Step {
		int64_t at_ns, value;
	};

	int64_t base_;
	int64_t current_ = base_;
	std::vector<Span> spans_;
	std::vector<Step> steps_; ///< empty before begin()
	size_t next_ = 0;
};

/// Packets that an event of the plan has lost, or sent as background traffic.
struct EventCount {
	size_t index = 0;
	uint64_t packets = 0;
};

/// Losses by chance and by event, at the entrance of a direction of a link.
class Mishaps
{
public:
	explicit Mishaps(const Impairments &chance) : losses_(chance)
	{
	}

	void add(const Event &event);
	void begin(int64_t start_ns);
	/// Whether the packet that enters now is lost; times must not go back.
	bool strikes(int64_t time_ns, Random &random);
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
	std::vector<Window> windows_;
	bool begun_ = false;
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
