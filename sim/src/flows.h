// All flows of a run: when each begins and ends, and when all are over.
#pragma once

#include "network.h"
#include "sending.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace landspeed
{

class Flows
{
public:
	/// Each begins to connect at its time. `whole_stack`: every packet goes through ns-3's IP.
	Flows(const Plan &plan, Network &network, bool whole_stack);

	/// Called when a flow could send for the first time, and when it is over.
	std::function<void(size_t flow)> began, ended;

	[[nodiscard]] const std::vector<std::unique_ptr<Sending>> &all() const
	{
		return flows_;
	}
	/// When the first of them could send: the run's start, in simulated time; -1: none could.
	[[nodiscard]] int64_t start_ns() const
	{
		return start_ns_;
	}
	/// Since the run's start; 0 before it.
	[[nodiscard]] int64_t time_ns() const;
	/// Read by all receivers.
	[[nodiscard]] uint64_t bytes() const;
	/// Whether a flow came to its end.
	[[nodiscard]] bool over(size_t flow) const
	{
		return over_[flow];
	}
	/// Whether all did.
	[[nodiscard]] bool complete() const
	{
		return left_ == 0;
	}
	/// Why it cannot go on; empty: all is well.
	[[nodiscard]] const std::string &error() const
	{
		return error_;
	}

private:
	void start(size_t flow);
	void end(size_t flow);
	void fail(size_t flow, const std::string &why);

	Network &network_;
	std::vector<std::unique_ptr<Sending>> flows_;
	std::vector<bool> over_;
	size_t left_;
	int64_t start_ns_ = -1;
	std::string error_;
};

} // namespace landspeed
