// Processor time and memory of one simulated second: bench_path WINDOW_SEGMENTS SECONDS [DROP…].
// Each number after the time is a data packet that is lost. Built with the mends and without them.
// Prints one JSON line.

#include "mend/tests/one_path.h"

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

namespace
{

double ProcessorSeconds()
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	auto seconds = [](const timeval &time) {
		return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
	};
	return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3) {
		std::fprintf(stderr, "usage: %s WINDOW_SEGMENTS SECONDS [DROP…]\n", argv[0]);
		return 2;
	}
	PathSettings settings;
	settings.window_bytes = std::strtoull(argv[1], nullptr, 10) * settings.mss_bytes;
	settings.first_window_segments =
	    static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10)); // full at once
	double seconds = std::strtod(argv[2], nullptr);
	for (int index = 3; index < argc; ++index)
		settings.drops.push_back(std::strtoull(argv[index], nullptr, 10));
	OnePath path(settings);
	path.Run(3 * settings.rtt_ms / 1000); // handshake, the window goes out, and is steady
	uint64_t before = path.Received();
	uint64_t events = ns3::Simulator::GetEventCount();
	double start = ProcessorSeconds();
	path.Run(seconds);
	double used = ProcessorSeconds() - start;
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	std::printf("{\"window_segments\": %s, \"simulated_s\": %g, \"cpu_s\": %.3f, "
		    "\"cpu_s_per_s\": %.3f, "
		    "\"goodput_bps\": %.0f, \"events\": %llu, \"max_rss_bytes\": %lld}\n",
		    argv[1], seconds, used, used / seconds,
		    static_cast<double>(path.Received() - before) * 8 / seconds,
		    static_cast<unsigned long long>(ns3::Simulator::GetEventCount() - events),
		    static_cast<long long>(usage.ru_maxrss) * 1024);
	return 0;
}
