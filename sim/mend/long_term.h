// The rate that a policer lets through, which Linux's BBR looks for (bbr_lt_bw_sampling).
#pragma once

#include <ns3/nstime.h>

#include <cstdint>

namespace landspeed
{

// Bandwidths are of 2^-24 segments a microsecond, as in Linux.
constexpr uint64_t BANDWIDTH_UNIT = uint64_t{1} << 24;

// What a policer lets through: the rate of two spans in a row, each with a fifth lost or more
// (Flach et al. 2016).
class LongTermBandwidth
{
public:
	// Segments delivered and lost since the beginning.
	struct Counts {
		uint64_t delivered = 0, lost = 0;
	};

	bool IsUsed() const
	{
		return used_;
	}

	uint64_t Bandwidth() const
	{
		return bandwidth_;
	}

	// Of an acknowledgment. True: it is used no more, for it was for long enough.
	bool Sample(const Counts &now, bool loses, bool limited, bool round_starts, bool probes,
		    uint32_t segment_bytes);
	void Reset(const Counts &now);

private:
	void begin(const Counts &now);
	void end(uint64_t bandwidth, const Counts &now, uint32_t segment_bytes);

	uint64_t bandwidth_ = 0; // of the last span, or that is used
	bool used_ = false;
	bool samples_ = false;
	uint32_t rounds_ = 0;
	Counts from_;
	ns3::Time from_at_;
};

} // namespace landspeed
