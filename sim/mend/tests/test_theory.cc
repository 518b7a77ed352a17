// Mended TCP against theory. Windows are smaller than those of the records where the law is the
// same for all.

#include "mend/tests/check.h"
#include "mend/tests/one_path.h"

using namespace ns3;

namespace
{

constexpr double RTT_S = 0.264;

double Segments(const PathSettings &settings, uint64_t bytes)
{
	return static_cast<double>(bytes) / settings.mss_bytes;
}

// One window in each round trip. Each segment is acknowledged at once: a delayed acknowledgment's
// timer makes those segments late that are left single at the end of a burst.
void WindowLimited()
{
	PathSettings settings;
	settings.window_bytes =
	    1024 * settings.mss_bytes; // window scaling (steps of 256 B) says it exactly
	settings.segments_per_ack = 1;
	OnePath path(settings);
	path.Run(12 * RTT_S);
	uint64_t before = path.Received();
	double round_trip_s = RTT_S + (9002 + 54) * 8 / 1e10;
	path.Run(20 * round_trip_s);
	double goodput_bps =
	    static_cast<double>(path.Received() - before) * 8 / (20 * round_trip_s);
	CheckNear("goodput, bit/s", goodput_bps,
		  static_cast<double>(settings.window_bytes) * 8 / round_trip_s, 0.0001);
}

// Linux counts what an acknowledgment covers: the window doubles each round trip although every
// second is delayed.
void SlowStart()
{
	PathSettings settings;
	settings.mss_bytes = 1448; // ten of them fit into the 64 KiB that can be offered with a SYN
	settings.window_bytes = 20'000 * settings.mss_bytes;
	OnePath path(settings);
	path.Run(1.5 * RTT_S); // the handshake, and half a round trip
	for (double expected = 10; expected <= 5120; expected *= 2) {
		CheckEqual("window, segments", Segments(settings, path.Window()), expected);
		path.Run(RTT_S);
	}
}

// After one loss at window W: W/2, then a segment each round trip, back at W after W/2 of them.
void RenoRecovery(uint32_t window, double rounds, double tolerance)
{
	PathSettings settings;
	settings.window_bytes = 2 * uint64_t{window} * settings.mss_bytes;
	settings.first_window_segments = window;
	settings.first_threshold_segments = window;
	settings.drops = {10};
	OnePath path(settings);
	// Handshake, what a SYN can offer, the window, its repair.
	path.Run(4.5 * RTT_S);
	double after = Segments(settings, path.Window());
	CheckNear("window after the recovery, of before", after / window, 0.5, 0.02);
	path.Run(rounds * RTT_S);
	CheckNear("growth, segments each round trip",
		  (Segments(settings, path.Window()) - after) / rounds, 1, tolerance);
}

// Later in a recovery, where a whole one would take too long: still a segment each round trip.
void RenoGrowth(uint32_t window, double rounds, double tolerance)
{
	PathSettings settings;
	settings.window_bytes = 2 * uint64_t{window} * settings.mss_bytes;
	settings.first_window_segments = window;
	settings.first_threshold_segments = window;
	OnePath path(settings);
	path.Run(3.5 * RTT_S); // handshake, what a SYN can offer, the window
	double before = Segments(settings, path.Window());
	path.Run(rounds * RTT_S);
	CheckNear("growth, segments each round trip",
		  (Segments(settings, path.Window()) - before) / rounds, 1, tolerance);
}

// W(t) = W_max + C (t - K)³, K = (0.3 W_max / C)^(1/3) (RFC 9438 section 4.2); read one round trip
// ahead.
void CubicGrowth(uint32_t window, double tolerance)
{
	PathSettings settings;
	settings.congestion_control = "cubic";
	settings.hystart = false;
	settings.window_bytes = 2 * uint64_t{window} * settings.mss_bytes;
	settings.first_window_segments = window;
	settings.first_threshold_segments = window;
	settings.drops = {10};
	OnePath path(settings);
	path.Run(
	    3 *
	    RTT_S); // handshake, the window, the repair: the epoch begins with its acknowledgment
	double k_s = std::cbrt(0.3 * window / 0.4);
	double elapsed_s = 0;
	for (double share : {0.25, 0.5, 1.0, 1.25}) {
		path.Run(share * k_s - elapsed_s);
		elapsed_s = share * k_s;
		double expected = window + 0.4 * std::pow(elapsed_s - k_s, 3);
		CheckNear("window, segments", Segments(settings, path.Window()), expected,
			  tolerance);
	}
}

// Kelly 2003: a hundredth more for each window acknowledged, so that it doubles in ln 2 / ln 1.01 =
// 69.66 round trips; also when each second segment's acknowledgment is all that comes.
void ScalableGrowth()
{
	constexpr uint32_t WINDOW = 500;
	PathSettings settings;
	settings.congestion_control = "scalable";
	settings.window_bytes = 4 * uint64_t{WINDOW} * settings.mss_bytes;
	settings.first_window_segments = WINDOW;
	settings.first_threshold_segments = WINDOW;
	OnePath path(settings);
	path.Run(3.5 * RTT_S); // handshake, what a SYN can offer, the window
	const double before = Segments(settings, path.Window());
	for (uint32_t rounds : {35, 70}) {
		path.Run(35 * RTT_S);
		CheckNear("window, segments", Segments(settings, path.Window()),
			  before * std::pow(1.01, rounds), 0.01);
	}
}

// Mathis et al. 1997: goodput = MSS / RTT × sqrt(3/2) / sqrt(p), each 1/p-th packet lost.
void SquareRootLaw()
{
	PathSettings settings;
	settings.window_bytes = 4'000 * settings.mss_bytes;
	settings.first_threshold_segments = 56;
	settings.drop_every = 2'000;
	OnePath path(settings);
	path.Run(60 * RTT_S);
	uint64_t before = path.Received();
	double seconds = 20 * 37 * RTT_S;
	path.Run(seconds);
	double goodput = Segments(settings, path.Received() - before) / seconds;
	CheckNear("segments a second", goodput, std::sqrt(1.5 * 2'000) / RTT_S, 0.03);
}

// Two streams, one line of 20 Mbit/s × 40 ms with a queue of a bandwidth-delay product.
void Fairness()
{
	PathSettings settings;
	settings.rate_bps = 20'000'000;
	settings.rtt_ms = 40;
	settings.mss_bytes = 1448;
	settings.queue_packets = 66;
	settings.window_bytes = 400 * settings.mss_bytes;
	settings.streams = 2;
	OnePath path(settings);
	path.Run(60);
	double first = static_cast<double>(path.Received(0));
	double second = static_cast<double>(path.Received(1));
	CheckNear("sum, bit/s", (first + second) * 8 / 60, 2e7 * 1448 / 1502, 0.02);
	CheckAtMost("Jain's index is at least 0.95", 0.95,
		    (first + second) * (first + second) / (2 * (first * first + second * second)));
}

// Prints samples of a lossy run: the same for the same seed.
void Samples(uint64_t seed)
{
	PathSettings settings;
	settings.window_bytes = 300 * settings.mss_bytes;
	settings.loss = 0.001;
	settings.seed = seed;
	OnePath path(settings);
	path.Every(0.1, [&] {
		std::printf("%lld %u %llu\n",
			    static_cast<long long>(Simulator::Now().GetNanoSeconds()),
			    path.Window(), static_cast<unsigned long long>(path.Received()));
	});
	path.Run(20);
}

} // namespace

int main(int argc, char **argv)
{
	return RunTest(argc, argv,
		       {{"window-limited", WindowLimited},
			{"slow-start", SlowStart},
			{"reno-recovery", [] { RenoRecovery(400, 200, 0.01); }},
			{"reno-10-gigabit",
			 [] {
				 RenoRecovery(40'260, 10, 0.05);
				 RenoGrowth(30'000, 10, 0.05);
				 RenoGrowth(36'000, 10, 0.05); // as much as the line holds
			 }},
			{"reno-1-gigabit", [] { RenoRecovery(4'000, 2000, 0.01); }},
			{"cubic-growth", [] { CubicGrowth(400, 0.03); }},
			{"cubic-1-gigabit", [] { CubicGrowth(4'000, 0.02); }},
			{"cubic-10-gigabit", [] { CubicGrowth(40'260, 0.02); }},
			{"scalable-growth", ScalableGrowth},
			{"square-root-law", SquareRootLaw},
			{"fairness", Fairness},
			{"samples-seed-1", [] { Samples(1); }},
			{"samples-seed-2", [] { Samples(2); }}});
}
