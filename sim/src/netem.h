// Chance as Linux's netem has it (net/sched/sch_netem.c): tables of delays, correlated draws,
// chains of losses, a limit of packets under way. Its own arithmetic, of 32 bits, oddities
// included.
#pragma once

#include "random.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <queue>
#include <vector>

namespace landspeed
{

/// A probability in netem's fixed point.
inline uint32_t netem_share(double probability)
{
	return static_cast<uint32_t>(probability * UINT32_MAX + 0.5);
}

enum class NetemLoss { random, state, gemodel };

/// What the plan has of it beside a direction's own figures.
struct Netem {
	std::vector<int16_t> table; ///< of delays, in 1/8192 of the jitter; none: uniform
	bool keeps_order = false;
	uint32_t gap = 0;           ///< that many packets, of which the last may be reordered
	uint64_t limit_packets = 0; ///< that may be under way; 0: any number
	double delay_correlation = 0, loss_correlation = 0, duplicate_correlation = 0;
	double corrupt_correlation = 0, reorder_correlation = 0;
	NetemLoss loss_model = NetemLoss::random;
	std::array<double, 5> chances{}; ///< of the model: p13 p31 p32 p14 p23, or p r h 1-k
};

/// Numbers of 32 bits of which each resembles the one before it: get_crandom() there.
class Correlated
{
public:
	explicit Correlated(double correlation) : rho_(netem_share(correlation))
	{
	}

	uint32_t draw(Random &random)
	{
		const uint64_t value = random.next() >> 32;
		if (rho_ == 0)
			return static_cast<uint32_t>(value);
		if (!begun_)
			last_ = random.next() >> 32;
		begun_ = true;
		const uint64_t rho = uint64_t{rho_} + 1;
		last_ = (value * ((uint64_t{1} << 32) - rho) + last_ * rho) >> 32;
		return static_cast<uint32_t>(last_);
	}

	bool happens(uint32_t share, Random &random)
	{
		return share > 0 && share >= draw(random);
	}

private:
	uint32_t rho_;
	uint64_t last_ = 0;
	bool begun_ = false;
};

/// A delay about a mean: tabledist() there.
inline int64_t netem_delay_ns(int64_t mean_ns, int64_t jitter_ns, uint32_t draw,
			      const std::vector<int16_t> &table)
{
	constexpr int64_t scale = 8192;
	const int64_t sigma = std::min<int64_t>(jitter_ns, INT32_MAX);
	if (table.empty())
		return mean_ns - sigma +
		       static_cast<int64_t>(draw % (2 * static_cast<uint64_t>(sigma)));
	const int64_t entry = table[draw % table.size()];
	const int64_t fine = (sigma % scale) * entry;
	return (fine + (fine >= 0 ? scale / 2 : -scale / 2)) / scale + (sigma / scale) * entry +
	       mean_ns;
}

/// Which packets are lost: by chance, or by a chain of states (loss_gilb_ell(), loss_4state()).
class NetemLosses
{
public:
	NetemLosses(const Netem &asked, double loss)
	    : model_(asked.loss_model), correlated_(asked.loss_correlation),
	      loss_(netem_share(loss))
	{
		std::transform(asked.chances.begin(), asked.chances.end(), chances_.begin(),
			       netem_share);
	}

	bool takes(Random &random)
	{
		if (model_ == NetemLoss::random)
			return correlated_.happens(loss_, random);
		return model_ == NetemLoss::gemodel ? gilbert_elliott(random) : four_states(random);
	}

private:
	enum class State { good, bad, isolated, between };

	static uint32_t draw(Random &random)
	{
		return static_cast<uint32_t>(random.next() >> 32);
	}

	bool gilbert_elliott(Random &random)
	{
		const auto [p, r, h, lost_when_good, none] = chances_;
		if (state_ == State::good) {
			if (draw(random) < p)
				state_ = State::bad;
			return draw(random) < lost_when_good;
		}
		if (draw(random) < r)
			state_ = State::good;
		return draw(random) > h;
	}

	/// good: 1, received in a gap; bad: 3, lost in a burst; between: 2, received in a burst;
	/// isolated: 4, lost in a gap.
	bool four_states(Random &random)
	{
		const auto [p13, p31, p32, p14, p23] = chances_;
		const uint64_t drawn = draw(random);
		switch (state_) {
		case State::good:
			if (drawn < p14)
				state_ = State::isolated;
			else if (drawn < uint64_t{p13} + p14)
				state_ = State::bad;
			return state_ != State::good;
		case State::between:
			if (drawn < p23)
				state_ = State::bad;
			return state_ == State::bad;
		case State::bad:
			if (drawn < p32)
				state_ = State::between;
			else if (drawn < uint64_t{p31} + p32)
				state_ = State::good;
			return state_ == State::bad;
		case State::isolated:
			state_ = State::good;
		}
		return false;
	}

	NetemLoss model_;
	Correlated correlated_;
	uint32_t loss_;
	std::array<uint32_t, 5> chances_{};
	State state_ = State::good;
};

/// Packets that have left the line and not arrived, where only so many may be.
class UnderWay
{
public:
	/// Whether a packet that comes now finds no place.
	bool full(const Netem &asked, int64_t now_ns)
	{
		if (asked.limit_packets == 0)
			return false;
		while (!sent_.empty() && sent_.front().leaves_ns <= now_ns) {
			arrivals_.push(sent_.front().arrives_ns);
			sent_.pop();
		}
		while (!arrivals_.empty() && arrivals_.top() <= now_ns)
			arrivals_.pop();
		return arrivals_.size() >= asked.limit_packets;
	}

	void add(const Netem &asked, int64_t leaves_ns, int64_t arrives_ns)
	{
		if (asked.limit_packets != 0)
			sent_.push({leaves_ns, arrives_ns});
	}

private:
	struct Passage {
		int64_t leaves_ns = 0, arrives_ns = 0;
	};

	std::queue<Passage> sent_;
	std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> arrivals_;
};

} // namespace landspeed
