// The run's result.json.
#pragma once

#include "flows.h"
#include "layout.h"

#include <string>

namespace landspeed
{

/// How the run went, beside what network and flows know.
struct Outcome {
	bool complete = false;
	std::string error; ///< empty: none
	std::string scheduler;
	bool collapse = false;
	double wall_s = 0, cpu_s = 0;
	uint64_t events = 0;
	int64_t simulated_ns = 0; ///< since the transfer's start
};

/// Writes FOLDER/result.json; throws std::runtime_error.
void result_write(const std::string &folder, const Plan &plan, const Layout &layout,
		  const Network &network, const Flows &flows, const Outcome &outcome);

} // namespace landspeed
