// The run's result.json.
#pragma once

#include "path.h"
#include "plan.h"
#include "streams.h"

#include <string>

namespace landspeed
{

/// How the run went, beside what path and streams know.
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
void result_write(const std::string &folder, const Plan &plan, const Path &path,
		  const Streams &streams, const Outcome &outcome);

} // namespace landspeed
