// What chance does to the packets of a direction: the plan's keys, and what comes of each.
#pragma once

#include "netem.h"
#include "random.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace landspeed
{

/// The plan's keys; at zero they do nothing. A key stands here, in its table below, and where it
/// acts: in this file, or in the lanes.
struct Impairments {
	double loss = 0, corrupt = 0, duplicate = 0, reorder = 0; ///< probabilities
	double loss_burst = 0; ///< packets lost in a row, in the mean; 0: each is lost for itself
	double loss_every = 0; ///< each so many-th packet is lost, instead of by chance; 0: chance
	int64_t jitter_ns = 0;
	std::optional<Netem> netem; ///< then these are netem's, with what it has besides

	/// Packets may arrive in another order than they came in.
	[[nodiscard]] bool disorders() const
	{
		return reorder > 0 || (netem && !netem->keeps_order && jitter_ns > 0);
	}

	/// Packets may arrive closer together than they left the line.
	[[nodiscard]] bool respaces() const
	{
		return disorders() || jitter_ns > 0;
	}
};

/// What becomes of the packets of a direction on their way, one after the other.
class Fate
{
public:
	explicit Fate(const Impairments &asked)
	    : asked_(asked), delays_(asked.netem ? asked.netem->delay_correlation : 0),
	      reorders_(asked.netem ? asked.netem->reorder_correlation : 0),
	      copies_(asked.netem ? asked.netem->duplicate_correlation : 0),
	      corrupts_(asked.netem ? asked.netem->corrupt_correlation : 0)
	{
	}

	/// Whether the next one comes out twice.
	bool duplicates(Random &random)
	{
		return happens(asked_.duplicate, copies_, random);
	}

	/// Whether a bit of it is flipped.
	bool corrupts(Random &random)
	{
		return happens(asked_.corrupt, corrupts_, random);
	}

	/// Whether there is no place for one that comes now.
	bool full(int64_t now_ns)
	{
		return asked_.netem && under_way_.full(*asked_.netem, now_ns);
	}

	/// When a packet arrives that leaves the line now: after its delay as jitter varies it, and
	/// where that or else `in_order` is asked not before the one that left before it, unless it
	/// is reordered.
	int64_t arrives_ns(int64_t leaves_ns, int64_t delay_ns, Random &random, bool in_order)
	{
		if (asked_.netem)
			return as_netem_ns(*asked_.netem, leaves_ns, delay_ns, random);
		if (asked_.jitter_ns > 0)
			delay_ns =
			    std::max<int64_t>(0, delay_ns + random.between(asked_.jitter_ns));
		// As netem does: it overtakes those under way.
		if (asked_.reorder > 0 && random.chance(asked_.reorder))
			return leaves_ns;
		if (asked_.jitter_ns == 0 && !in_order)
			return leaves_ns + delay_ns;
		latest_ns_ = std::max(latest_ns_, leaves_ns + delay_ns);
		return latest_ns_;
	}

private:
	bool happens(double probability, Correlated &draws, Random &random)
	{
		if (probability <= 0)
			return false;
		return asked_.netem ? draws.happens(netem_share(probability), random)
				    : random.chance(probability);
	}

	int64_t as_netem_ns(const Netem &netem, int64_t leaves_ns, int64_t delay_ns, Random &random)
	{
		int64_t arrives_ns = leaves_ns;
		if (asked_.reorder > 0 && since_ + 1 >= netem.gap &&
		    reorders_.happens(netem_share(asked_.reorder), random)) {
			since_ = 0;
		} else {
			since_++;
			if (asked_.jitter_ns > 0)
				delay_ns = netem_delay_ns(delay_ns, asked_.jitter_ns,
							  delays_.draw(random), netem.table);
			arrives_ns += std::max<int64_t>(delay_ns, 0);
			if (netem.keeps_order)
				arrives_ns = latest_ns_ = std::max(latest_ns_, arrives_ns);
		}
		under_way_.add(netem, leaves_ns, arrives_ns);
		return arrives_ns;
	}

	Impairments asked_;
	Correlated delays_, reorders_, copies_, corrupts_;
	UnderWay under_way_;
	uint32_t since_ = 0;    ///< packets since the last one that was reordered
	int64_t latest_ns_ = 0; ///< arrival of the packet that left last
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
		if (asked.netem && asked.loss_burst <= 0 && asked.loss_every <= 0)
			netem_.emplace(*asked.netem, asked.loss);
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
		if (netem_)
			return netem_->takes(random);
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
	std::optional<NetemLosses> netem_; ///< instead
};

} // namespace landspeed
