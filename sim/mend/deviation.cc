#include "mend/deviation.h"

#include <ns3/simulator.h>
#include <ns3/type-id.h>

#include <algorithm>
#include <cstdlib>

using namespace ns3;

namespace landspeed
{

namespace
{

// Gains (Jacobson and Karels 1988, appendix A): an eighth of the error, a quarter of its size; for
// the size an eighth of that where the round trip became shorter, so that a queue that drains is
// not taken for one that varies.
constexpr int64_t ROUND_TRIP_SHIFT = 3;
constexpr int64_t DEVIATION_SHIFT = 2;
constexpr int64_t SHORTER_SHIFT = 3;
constexpr int64_t MARGIN_PART = 4;

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Deviation);

TypeId Deviation::GetTypeId()
{
	static TypeId id =
	    TypeId("landspeed::Deviation").SetParent<RttEstimator>().AddConstructor<Deviation>();
	return id;
}

TypeId Deviation::GetInstanceTypeId() const
{
	return GetTypeId();
}

void Deviation::Measurement(Time round_trip)
{
	Measure(round_trip, Time());
}

void Deviation::Measure(const Time &round_trip, const Time &floor)
{
	const Time now = Simulator::Now();
	const int64_t measured_ns = round_trip.GetNanoSeconds();
	if (m_nSamples++ == 0) {
		m_estimatedRtt = round_trip;
		deviation_ns_ = 2 * measured_ns; // the first timeout is of three round trips
		m_estimatedVariation = NanoSeconds(deviation_ns_ >> DEVIATION_SHIFT);
		greatest_ = margin_ = Max(NanoSeconds(deviation_ns_), floor);
		round_ = now;
		return;
	}
	const int64_t error_ns = measured_ns - m_estimatedRtt.GetNanoSeconds();
	m_estimatedRtt += NanoSeconds(error_ns >> ROUND_TRIP_SHIFT);
	Deviate(error_ns);
	if (now - round_trip < round_)
		return;
	// What was sent after the round trip began has arrived: the next one begins.
	if (greatest_ < margin_)
		margin_ -= (margin_ - greatest_) / MARGIN_PART;
	greatest_ = floor;
	round_ = now;
}

void Deviation::Deviate(int64_t error_ns)
{
	int64_t more_ns = std::abs(error_ns) - (deviation_ns_ >> DEVIATION_SHIFT);
	if (error_ns < 0 && more_ns > 0)
		more_ns >>= SHORTER_SHIFT;
	deviation_ns_ += more_ns;
	m_estimatedVariation = NanoSeconds(deviation_ns_ >> DEVIATION_SHIFT);
	greatest_ = Max(greatest_, NanoSeconds(deviation_ns_));
	margin_ = Max(margin_, greatest_);
}

const Time &Deviation::Margin() const
{
	return margin_;
}

Ptr<RttEstimator> Deviation::Copy() const
{
	return CopyObject<Deviation>(this);
}

void Deviation::Reset()
{
	RttEstimator::Reset();
	deviation_ns_ = 0;
	greatest_ = margin_ = round_ = Time();
}

} // namespace landspeed
