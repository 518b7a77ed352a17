// What chance does to the packets of a direction: the plan's keys, and what comes of each.
#pragma once

#include "random.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace landspeed
{

/// The plan's keys; at zero they do nothing. A key stands here, in its table below, and where it
/// acts: in this file, or in the lanes.
struct Impairments {
	double loss = 0, corrupt = 0, duplicate = 0, reorder = 0; ///< probabilities
	double loss_burst = 0; ///< packets lost in a row, in the mean; 0: each is lost for itself
	double loss_every = 0; ///< each so many-th packet is lost, instead of by chance; 0: chance
	int64_t jitter_ns = 0;

	/// Packets may arrive in another order than they came in.
	[[nodiscard]] bool disorders() const
	{
		return reorder > 0;
	}

	/// Packets may arrive closer together than they left the line.
	[[nodiscard]] bool respaces() const
	{
		return disorders() || jitter_ns > 0;
	}

	/// When a packet arrives that leaves the line now: after its delay as jitter varies it, and
	/// where that or else `in_order` is asked not before the one that left before it
	/// (`latest_ns`), unless it is reordered.
	int64_t arrives_ns(int64_t leaves_ns, int64_t delay_ns, int64_t &latest_ns, Random &random,
			   bool in_order) const
	{
		if (jitter_ns > 0)
			delay_ns = std::max<int64_t>(0, delay_ns + random.between(jitter_ns));
		// As netem does: it overtakes those under way.
		if (reorder > 0 && random.chance(reorder))
			return leaves_ns;
		if (jitter_ns == 0 && !in_order)
			return leaves_ns + delay_ns;
		latest_ns = std::max(latest_ns, leaves_ns + delay_ns);
		return latest_ns;
	}
};

/// A key that is a number: where it goes, and what it may be.
struct ImpairmentNumber {
	const char *key;
	double Impairments::*field;
	double least, most;
};

inline constexpr std::array impairment_numbers{
    ImpairmentNumber{"loss", &Impairments::loss, 0, 1},
    ImpairmentNumber{"loss_burst", &Impairments::loss_burst, 0, 1000},
    ImpairmentNumber{"loss_every", &Impairments::loss_every, 0, 1e9},
    ImpairmentNumber{"corrupt", &Impairments::corrupt, 0, 1},
    ImpairmentNumber{"duplicate", &Impairments::duplicate, 0, 1},
    ImpairmentNumber{"reorder", &Impairments::reorder, 0, 1},
};

/// A key that is a time.
struct ImpairmentTime {
	const char *key;
	int64_t Impairments::*field;
};

inline constexpr std::array impairment_times{
    ImpairmentTime{"jitter_ns", &Impairments::jitter_ns},
};

/// Which packets chance takes at the entrance: each for itself, or, for bursts, those that come
/// while Gilbert's chain is in its bad state (Bell System Technical Journal 39, 1960). It begins in
/// the good one, and after each packet may change, as netem's does.
class Losses
{
public:
	explicit Losses(const Impairments &asked)
	    : loss_(asked.loss), every_(static_cast<uint64_t>(asked.loss_every))
	{
		if (asked.loss_burst <= 0 || asked.loss >= 1)
			return;
		ends_ = 1 / asked.loss_burst;
		begins_ = ends_ * asked.loss / (1 - asked.loss);
	}

	/// The transfer begins: what is lost by count is counted from here on.
	void begin()
	{
		counting_ = true;
	}

	/// Whether it takes the next one.
	bool takes(Random &random)
	{
		if (loss_ <= 0)
			return false;
		if (every_ > 0)
			return counting_ && ++passed_ % every_ == 0;
		if (ends_ <= 0)
			return random.chance(loss_);
		const bool lost = bad_;
		if (random.chance(bad_ ? ends_ : begins_))
			bad_ = !bad_;
		return lost;
	}

private:
	double loss_;
	double begins_ = 0, ends_ = 0; ///< chances that a burst begins, or ends; 0: no bursts
	bool bad_ = false;
	uint64_t every_, passed_ = 0; ///< loss by count
	bool counting_ = false;
};

} // namespace landspeed
