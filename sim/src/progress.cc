#include "progress.h"

#include <csignal>
#include <cstdio>
#include <ctime>
#include <ns3/simulator.h>

namespace landspeed
{

using ns3::MilliSeconds;
using ns3::Simulator;

namespace
{

volatile std::sig_atomic_t signal_seen = 0;

void signal_note(int number)
{
	signal_seen = number;
}

constexpr auto line_every = std::chrono::milliseconds(500); // of wall time
constexpr int look_every_ms = 1;                            // of simulated time

} // namespace

void stop_on_signals()
{
	(void)std::signal(SIGINT, signal_note);
	(void)std::signal(SIGTERM, signal_note);
}

int stop_signal()
{
	return signal_seen;
}

Progress::Progress(const Flows &flows)
    : flows_(flows), began_(std::chrono::steady_clock::now()), told_(began_)
{
}

void Progress::begin()
{
	Simulator::Schedule(MilliSeconds(look_every_ms), &Progress::look, this);
}

void Progress::look()
{
	if (signal_seen != 0) {
		Simulator::Stop();
		return;
	}
	if (std::chrono::steady_clock::now() - told_ >= line_every)
		tell();
	Simulator::Schedule(MilliSeconds(look_every_ms), &Progress::look, this);
}

void Progress::tell()
{
	const int64_t time_ns = flows_.time_ns();
	const uint64_t bytes = flows_.bytes();
	const double span_s = static_cast<double>(time_ns - told_ns_) / 1e9;
	const double goodput_bps =
	    span_s > 0 ? static_cast<double>(bytes - told_bytes_) * 8 / span_s : 0;
	std::printf("{\"time_s\": %.3f, \"goodput_bps\": %.0f, \"bytes\": %llu, \"wall_s\": %.3f, "
		    "\"cpu_s\": %.3f}\n",
		    static_cast<double>(time_ns) / 1e9, goodput_bps,
		    static_cast<unsigned long long>(bytes), wall_s(), cpu_s());
	std::fflush(stdout);
	told_ = std::chrono::steady_clock::now();
	told_ns_ = time_ns;
	told_bytes_ = bytes;
}

void Progress::finish()
{
	tell();
}

double cpu_s()
{
	return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double Progress::wall_s() const
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

} // namespace landspeed
