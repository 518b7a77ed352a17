#pragma once

#include <ns3/rtt-estimator.h>

namespace landspeed
{

// Round trips as Linux smooths them (tcp_rtt_estimator): the retransmission timeout is above the
// greatest deviation of the last round trip, which it leaves by a quarter of the way in each
// further one. With the mean deviation alone (RFC 6298, ns-3), a hundred steady acknowledgments
// within a round trip are enough to forget a queue that has just grown. docs/ns3/05-rto-floor.md.
class Deviation : public ns3::RttEstimator
{
public:
	static ns3::TypeId GetTypeId();

	ns3::TypeId GetInstanceTypeId() const override;
	// The floor is the least that the deviation is taken for.
	void Measure(const ns3::Time &round_trip, const ns3::Time &floor);
	void Measurement(ns3::Time round_trip) override;
	// What the timeout is above the smoothed round trip: at least the floor.
	const ns3::Time &Margin() const;
	ns3::Ptr<ns3::RttEstimator> Copy() const override;
	void Reset() override;

private:
	void Deviate(int64_t error_ns);

	int64_t deviation_ns_ = 0; // mdev: four times the mean deviation
	ns3::Time greatest_;       // mdev_max: of this round trip
	ns3::Time margin_;         // rttvar
	ns3::Time round_;          // since when this round trip lasts
};

} // namespace landspeed
