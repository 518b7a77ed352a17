#include "mend/long_term.h"

#include <ns3/simulator.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr uint32_t ROUNDS = 4, MOST_ROUNDS = 48;
constexpr uint64_t LOST = 50;        // of 256: a fifth
constexpr uint64_t NEAR = 256 / 8;   // two rates this near are the same,
constexpr uint64_t NEAR_BYTES = 500; // or this near, a second

} // namespace

void LongTermBandwidth::begin(const Counts &now)
{
	from_ = now;
	from_at_ = Simulator::Now();
	rounds_ = 0;
}

void LongTermBandwidth::Reset(const Counts &now)
{
	bandwidth_ = 0;
	used_ = samples_ = false;
	begin(now);
}

// bbr_lt_bw_sampling.
bool LongTermBandwidth::Sample(const Counts &now, bool loses, bool limited, bool round_starts,
			       bool probes, uint32_t segment_bytes)
{
	if (used_) {
		if (!probes || !round_starts || ++rounds_ < MOST_ROUNDS)
			return false;
		Reset(now);
		return true;
	}
	if (!samples_) { // the first loss: the policer's tokens are used up
		if (!loses)
			return false;
		begin(now);
		samples_ = true;
	}
	if (limited) {
		Reset(now);
		return false;
	}
	rounds_ += round_starts;
	if (rounds_ < ROUNDS)
		return false;
	if (rounds_ > 4 * ROUNDS) {
		Reset(now);
		return false;
	}
	const uint64_t lost = now.lost - from_.lost, delivered = now.delivered - from_.delivered;
	if (!loses || delivered == 0 || lost * 256 < LOST * delivered)
		return false;
	const int64_t span_ms = (Simulator::Now() - from_at_).GetMilliSeconds();
	if (span_ms < 1)
		return false;
	end(delivered * BANDWIDTH_UNIT / (static_cast<uint64_t>(span_ms) * 1000), now,
	    segment_bytes);
	return false;
}

// bbr_lt_bw_interval_done.
void LongTermBandwidth::end(uint64_t bandwidth, const Counts &now, uint32_t segment_bytes)
{
	const uint64_t apart = std::max(bandwidth, bandwidth_) - std::min(bandwidth, bandwidth_);
	if (bandwidth_ > 0 && (apart * 256 <= NEAR * bandwidth_ ||
			       apart * segment_bytes * 1'000'000 / BANDWIDTH_UNIT <= NEAR_BYTES)) {
		bandwidth_ = (bandwidth + bandwidth_) / 2;
		used_ = true;
		rounds_ = 0;
		return;
	}
	bandwidth_ = bandwidth;
	begin(now);
}

} // namespace landspeed
