// Time series of a run, in the files that the engine and the link watch write.
#pragma once

#include "flows.h"
#include "network.h"

#include <fstream>
#include <memory>
#include <ns3/event-id.h>
#include <string>
#include <vector>

namespace landspeed
{

/// A CSV file that says when it cannot be written.
class SampleFile
{
public:
	/// Opens it and writes the header; throws std::runtime_error, as does `check`.
	SampleFile(std::string name, const char *header);

	[[nodiscard]] std::ofstream &out()
	{
		return out_;
	}
	void check() const;
	/// What was written is on the disk.
	void close();

private:
	std::string name_;
	std::ofstream out_;
};

/// Where the files of a flow are, below the folder of the run.
std::string flow_folder(size_t flow);

/// Each flow is sampled at its own interval from its own start on, the links at the shortest of all
/// from the run's start on. What is due at one instant is one event.
class Sampler
{
public:
	/// Opens links.csv in a folder, and sender.csv and receiver.csv in one for each flow;
	/// throws std::runtime_error.
	Sampler(const std::string &folder, const Plan &plan, const Network &network,
		const Flows &flows);

	/// A flow is sampled from now on; with the first one, the links.
	void begin(size_t flow);
	/// A last sample of a flow.
	void end(size_t flow);
	/// Last samples of what has not ended; what was written is on the disk.
	void finish();

private:
	struct Series {
		SampleFile sender, receiver;
		int64_t interval_ns = 0;
		int64_t due_ns = INT64_MAX; ///< in simulated time; INT64_MAX: it is not sampled
		int64_t last_ns = -1;       ///< since the flow's start
	};

	void schedule();
	void tick();
	void write_flow(size_t flow);
	void write_links();

	const Network &network_;
	const Flows &flows_;
	std::vector<Series> series_;
	SampleFile links_;
	int64_t links_interval_ns_ = INT64_MAX, links_due_ns_ = INT64_MAX, links_last_ns_ = -1;
	ns3::EventId next_;
	int64_t next_ns_ = INT64_MAX;
};

} // namespace landspeed
