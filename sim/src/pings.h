// Echoes beside the transfers of the flows that ask for them: a packet of its own to the receiver
// and back at each sample interval, from before the first flow connects.
#pragma once

#include "flows.h"

#include <string>
#include <vector>

namespace landspeed
{

class Pings
{
public:
	Pings(const Plan &plan, Network &network, const Flows &flows);

	/// Writes pings.csv of each flow that asks: those that came back; times count from the
	/// run's start.
	void write(const std::string &folder) const;

private:
	struct Echo {
		int64_t sent_ns = 0, rtt_ns = -1;
	};

	void send(size_t flow);
	void back(size_t flow, uint64_t number);

	const Plan &plan_;
	Network &network_;
	const Flows &flows_;
	std::vector<std::vector<Echo>> echoes_; ///< by flow
};

} // namespace landspeed
