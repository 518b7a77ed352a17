#include "pings.h"

#include "probe.h"
#include "sampler.h"

#include <ns3/simulator.h>

namespace landspeed
{

using ns3::NanoSeconds;
using ns3::Simulator;

namespace
{

constexpr char header[] = "number,sent_ns,rtt_ns\n";

} // namespace

Pings::Pings(const Plan &plan, Network &network, const Flows &flows)
    : plan_(plan), network_(network), flows_(flows), echoes_(plan.flows.size())
{
	for (size_t flow = 0; flow < plan.flows.size(); flow++) {
		if (!plan.flows[flow].transfer.ping_interval_ns)
			continue;
		network.ends[flow].sender.device->echoed = [this, flow](uint64_t number) {
			back(flow, number);
		};
		Simulator::Schedule(NanoSeconds(0), &Pings::send, this, flow);
	}
}

void Pings::send(size_t flow)
{
	auto &echoes = echoes_[flow];
	echoes.push_back({Simulator::Now().GetNanoSeconds()});
	network_.ends[flow].sender.device->send_echo(probe_bytes(plan_.ip_version),
						     echoes.size() - 1);
	if (!flows_.over(flow))
		Simulator::Schedule(NanoSeconds(plan_.flows[flow].transfer.ping_interval_ns),
				    &Pings::send, this, flow);
}

/// Of copies, the first counts.
void Pings::back(size_t flow, uint64_t number)
{
	Echo &echo = echoes_[flow].at(number);
	if (echo.rtt_ns < 0)
		echo.rtt_ns = Simulator::Now().GetNanoSeconds() - echo.sent_ns;
}

void Pings::write(const std::string &folder) const
{
	for (size_t flow = 0; flow < echoes_.size(); flow++) {
		if (echoes_[flow].empty() || flows_.start_ns() < 0)
			continue;
		SampleFile file(folder + "/" + flow_folder(flow) + "/pings.csv", header);
		size_t number = 0;
		for (const auto &echo : echoes_[flow]) {
			if (echo.rtt_ns >= 0)
				file.out() << number << ',' << echo.sent_ns - flows_.start_ns()
					   << ',' << echo.rtt_ns << '\n';
			number++;
		}
		file.check();
		file.close();
	}
}

} // namespace landspeed
