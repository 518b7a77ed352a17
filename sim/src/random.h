// Random numbers of a direction of a link: the same for the same seed, on every machine.
#pragma once

#include <cstdint>

namespace landspeed
{

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
class Random
{
public:
	explicit Random(uint64_t seed) : state_(seed)
	{
	}

	uint64_t next()
	{
		state_ += 0x9e3779b97f4a7c15U;
		uint64_t mixed = state_;
		mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
		mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
		return mixed ^ (mixed >> 31);
	}

	/// True with this probability.
	bool chance(double probability)
	{
		return static_cast<double>(next() >> 11) * 0x1.0p-53 < probability;
	}

	/// Uniform in [-most, most].
	int64_t between(int64_t most)
	{
		return static_cast<int64_t>(next() % (2 * static_cast<uint64_t>(most) + 1)) - most;
	}

private:
	uint64_t state_;
};

} // namespace landspeed
