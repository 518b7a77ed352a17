// What the timeout is above the smoothed round trip, after a queue has grown.

#include "mend/tests/check.h"

#include <ns3/nstime.h>
#include <ns3/rtt-estimator.h>
#include <ns3/simulator.h>

#include <cmath>

#ifdef LANDSPEED_MENDED
#include "mend/deviation.h"
#endif

using namespace ns3;

namespace
{

constexpr double FLOOR_S = 0.2;
constexpr double BEFORE_S = 0.1;
constexpr double QUEUED_S = 0.5;
constexpr double GAP_S = 0.01; // from an acknowledgment to the next: fifty in a round trip

struct Timeout {
#ifdef LANDSPEED_MENDED
	Ptr<landspeed::Deviation> estimator = CreateObject<landspeed::Deviation>();
	void Measure(double round_trip_s)
	{
		estimator->Measure(Seconds(round_trip_s), Seconds(FLOOR_S));
	}
	double MarginSeconds() const
	{
		return estimator->Margin().GetSeconds();
	}
#else
	Ptr<RttEstimator> estimator = CreateObject<RttMeanDeviation>();
	void Measure(double round_trip_s)
	{
		estimator->Measurement(Seconds(round_trip_s));
	}
	double MarginSeconds() const
	{
		return std::fmax(4 * estimator->GetVariation().GetSeconds(), FLOOR_S);
	}
#endif
};

// The round trip steps from 0.1 to 0.5 s. By Jacobson and Karels' gains the deviation of the first
// three acknowledgments is 0.2, 0.2 + 0.4 - 0.2/4 and so on; what it was at most is left by a
// quarter of the way to the floor in each further round trip, however many acknowledgments that
// has.
void Remembers()
{
	Timeout timeout;
	double margins_s[6] = {};
	double greatest_s = 0;
	const auto note = [&] { greatest_s = std::fmax(greatest_s, timeout.MarginSeconds()); };
	Simulator::Schedule(Seconds(BEFORE_S), [&] { timeout.Measure(BEFORE_S); });
	for (int acknowledged = 0; acknowledged < 600; ++acknowledged)
		Simulator::Schedule(Seconds(BEFORE_S + QUEUED_S + GAP_S * acknowledged), [&] {
			timeout.Measure(QUEUED_S);
			note();
		});
	// A round trip begins with the first of these; its fiftieth successor measures what was
	// sent after it.
	for (int round = 0; round < 6; ++round)
		Simulator::Schedule(Seconds(BEFORE_S + QUEUED_S * (5 + round) + GAP_S / 2),
				    [&, round] { margins_s[round] = timeout.MarginSeconds(); });
	Simulator::Run();
	Simulator::Destroy();

	double smoothed_s = BEFORE_S;
	double deviation_s = 2 * BEFORE_S;
	double expected_s = deviation_s;
	for (int acknowledged = 0; acknowledged < 50; ++acknowledged) {
		const double error_s = QUEUED_S - smoothed_s;
		smoothed_s += error_s / 8;
		deviation_s += error_s - deviation_s / 4;
		expected_s = std::fmax(expected_s, deviation_s);
	}
	CheckNear("greatest margin, s", greatest_s, expected_s, 1e-6);
	for (int round = 1; round < 6; ++round)
		CheckNear("margin above the floor, to that of a round trip before",
			  (margins_s[round] - FLOOR_S) / (margins_s[round - 1] - FLOOR_S), 0.75,
			  1e-6);
}

// A queue that drains is not taken for round trips that vary: where they become shorter, the
// deviation grows by an eighth of what it does where they become longer.
void Drains()
{
	Timeout timeout;
	Simulator::Schedule(Seconds(QUEUED_S), [&] { timeout.Measure(QUEUED_S); });
	// Until the deviation of the first one, twice the round trip, is forgotten.
	for (int acknowledged = 0; acknowledged < 3000; ++acknowledged)
		Simulator::Schedule(Seconds(QUEUED_S * 2 + GAP_S * acknowledged),
				    [&] { timeout.Measure(QUEUED_S); });
	Simulator::Schedule(Seconds(QUEUED_S * 2 + GAP_S * 3000),
			    [&] { timeout.Measure(BEFORE_S); });
	Simulator::Run();
	Simulator::Destroy();
	CheckNear("mean deviation, s", timeout.estimator->GetVariation().GetSeconds(),
		  (QUEUED_S - BEFORE_S) / 8 / 4, 1e-3);
}

} // namespace

int main(int argc, char **argv)
{
	return RunTest(argc, argv, {{"remembers", Remembers}, {"drains", Drains}});
}
