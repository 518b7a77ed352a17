// HyStart (Ha and Rhee 2008), which ends slow start before it overflows the path, as Linux 6.12 has
// it. Knows nothing of ns-3.
#pragma once

#include <cstdint>

namespace landspeed
{

// Times are nanoseconds. Rounds are round trips: one ends with the acknowledgment of what was the
// last byte sent when it began. Two signs end slow start, looked for in windows of 16 segments and
// more:
//
// - delay: the shortest of the first eight round trips measured in this round exceeds the shortest
// ever by an eighth of
//   it, but at least 4 ms and at most 16 ms. The upper bound is what makes it fire on a long path;
//   ns-3's is 1000 ms.
// - acknowledgment train: acknowledgments that follow each other within 2 ms have been coming for
// as long as the
//   shortest round trip (its half if the sender does not pace): the path is full.
class Hystart
{
public:
	explicit Hystart(bool paced) : paced_(paced)
	{
	}

	// Slow start begins anew: forgets all but the shortest round trip.
	void Restart();
	// A round trip was measured; true when slow start is to end, once until Restart.
	bool Acknowledged(int64_t now, int64_t round_trip, uint32_t window_segments,
			  bool round_ended);

private:
	void BeginRound(int64_t now);

	bool paced_;
	bool found_ = false;
	bool in_round_ = false;
	int64_t shortest_ = INT64_MAX; // ever
	int64_t round_start_ = 0;
	int64_t train_end_ = 0;
	int64_t round_shortest_ = INT64_MAX;
	uint32_t samples_ = 0;
};

} // namespace landspeed
