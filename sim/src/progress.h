// How far the simulation is, told on standard output, and the wish to stop it.
#pragma once

#include "flows.h"

#include <chrono>
#include <cstdint>

namespace landspeed
{

/// From SIGINT and SIGTERM: the simulation ends at once, and what was simulated so far is written.
void stop_on_signals();
/// The signal that asked for the end; 0: none did.
int stop_signal();
/// Processor time of this process.
double cpu_s();

class Progress
{
public:
	explicit Progress(const Flows &flows);

	/// Looks at the clock and at the signals from now on.
	void begin();
	/// A last line.
	void finish();
	[[nodiscard]] double wall_s() const;

private:
	void look();
	void tell();

	const Flows &flows_;
	std::chrono::steady_clock::time_point began_, told_;
	uint64_t told_bytes_ = 0;
	int64_t told_ns_ = 0;
};

} // namespace landspeed
