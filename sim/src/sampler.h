// Time series of a run, in the files that the engine and the link watch write.
#pragma once

#include "path.h"
#include "streams.h"

#include <fstream>
#include <string>

namespace landspeed
{

class Sampler
{
public:
	/// Opens sender.csv, receiver.csv and links.csv in a folder; throws std::runtime_error.
	Sampler(const std::string &folder, const Plan &plan, const Path &path,
		const Streams &streams);

	/// Sampling begins now, and goes on at the plan's interval.
	void begin();
	/// A last sample; what was written is on the disk.
	void finish();

private:
	void tick();
	void write_streams(int64_t time_ns);
	void write_links(int64_t time_ns);
	void check(const std::ofstream &file, const char *name) const;

	const Plan &plan_;
	const Path &path_;
	const Streams &streams_;
	std::string folder_;
	std::ofstream sender_, receiver_, links_;
	int64_t last_ns_ = -1;
};

} // namespace landspeed
