#include "mend/hystart.h"

#include <algorithm>

namespace landspeed
{

namespace
{

constexpr int64_t MILLISECOND = 1'000'000;
constexpr uint32_t LEAST_WINDOW_SEGMENTS = 16;
constexpr uint32_t SAMPLES = 8;
constexpr int64_t TRAIN_GAP = 2 * MILLISECOND;
constexpr int64_t LEAST_DELAY = 4 * MILLISECOND;
constexpr int64_t MOST_DELAY = 16 * MILLISECOND;

} // namespace

void Hystart::Restart()
{
	found_ = false;
	in_round_ = false;
}

void Hystart::BeginRound(int64_t now)
{
	in_round_ = true;
	round_start_ = train_end_ = now;
	round_shortest_ = INT64_MAX;
	samples_ = 0;
}

bool Hystart::Acknowledged(int64_t now, int64_t round_trip, uint32_t window_segments,
			   bool round_ended)
{
	shortest_ = std::min(shortest_, round_trip);
	if (found_ || window_segments < LEAST_WINDOW_SEGMENTS)
		return false;
	if (round_ended || !in_round_)
		BeginRound(now);
	if (now - train_end_ <= TRAIN_GAP) {
		train_end_ = now;
		found_ = now - round_start_ > (paced_ ? shortest_ : shortest_ / 2);
	}
	round_shortest_ = std::min(round_shortest_, round_trip);
	if (samples_ < SAMPLES)
		++samples_;
	else if (round_shortest_ > shortest_ + std::clamp(shortest_ / 8, LEAST_DELAY, MOST_DELAY))
		found_ = true;
	return found_;
}

} // namespace landspeed
