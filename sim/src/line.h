// Serialization: when a packet begins to leave a line and when it has left.
#pragma once

#include <cstdint>

namespace landspeed
{

/// Products of rates and sizes.
__extension__ typedef unsigned __int128 Wide;

/// A line that sends one packet after another. Time is in nanoseconds and exact fractions of one,
/// so that rounding never adds up: what leaves at the rate leaves at that very rate for ever.
class LineClock
{
public:
	explicit LineClock(uint64_t rate_bps) : rate_bps_(rate_bps)
	{
	}

	/// Takes effect with the next packet.
	void set_rate(uint64_t rate_bps)
	{
		if (rate_bps == rate_bps_)
			return;
		round_up();
		rate_bps_ = rate_bps;
		cached_bytes_ = 0;
	}

	/// When the next packet could begin at the earliest, rounded down.
	[[nodiscard]] int64_t free_ns() const
	{
		return free_ns_;
	}

	/// When a packet that arrives at this time begins to be sent, rounded up.
	[[nodiscard]] int64_t start_ns(int64_t arrival_ns) const
	{
		return busy_at(arrival_ns) ? free_ns_ + (fraction_ > 0 ? 1 : 0) : arrival_ns;
	}

	[[nodiscard]] bool busy_at(int64_t time_ns) const
	{
		return time_ns < free_ns_ || (time_ns == free_ns_ && fraction_ > 0);
	}

	/// It is free at this time, whatever it has sent.
	void busy_until(int64_t time_ns)
	{
		free_ns_ = time_ns;
		fraction_ = 0;
	}

	/// Sends `bytes` (framing included) as soon as the line is free, not before `arrival_ns`.
	/// Returns when the last bit has left, rounded up to a whole nanosecond.
	int64_t send(int64_t arrival_ns, uint32_t bytes)
	{
		if (!busy_at(arrival_ns)) {
			free_ns_ = arrival_ns;
			fraction_ = 0;
		}
		if (bytes != cached_bytes_)
			cache(bytes);
		free_ns_ += whole_;
		fraction_ += rest_;
		if (fraction_ >= rate_bps_) {
			fraction_ -= rate_bps_;
			free_ns_++;
		}
		return free_ns_ + (fraction_ > 0 ? 1 : 0);
	}

private:
	void round_up()
	{
		if (fraction_ > 0)
			free_ns_++;
		fraction_ = 0;
	}

	void cache(uint32_t bytes)
	{
		const uint64_t scaled = uint64_t{bytes} * 8 * 1'000'000'000;
		cached_bytes_ = bytes;
		whole_ = static_cast<int64_t>(scaled / rate_bps_);
		rest_ = scaled % rate_bps_;
	}

	uint64_t rate_bps_;
	int64_t free_ns_ = 0;
	uint64_t fraction_ = 0; ///< of a nanosecond, in units of 1/rate
	uint32_t cached_bytes_ = 0;
	int64_t whole_ = 0;
	uint64_t rest_ = 0;
};

} // namespace landspeed
