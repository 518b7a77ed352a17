#include "flows.h"

#include "datagrams.h"
#include "streams.h"

#include <ns3/simulator.h>

namespace landspeed
{

using ns3::NanoSeconds;
using ns3::Simulator;

Flows::Flows(const Plan &plan, Network &network, bool whole_stack)
    : network_(network), over_(plan.flows.size()), left_(plan.flows.size())
{
	for (size_t i = 0; i < plan.flows.size(); i++) {
		const Flow &flow = plan.flows[i];
		if (flow.transfer.datagrams)
			flows_.push_back(std::make_unique<Datagrams>(plan, flow, network.ends[i]));
		else
			flows_.push_back(
			    std::make_unique<Streams>(plan, flow, network.ends[i], whole_stack));
		flows_[i]->started = [this, i] { start(i); };
		flows_[i]->delivered = [this, i] { end(i); };
		flows_[i]->failed = [this, i](const std::string &why) { fail(i, why); };
	}
}

void Flows::start(size_t flow)
{
	if (start_ns_ < 0) {
		start_ns_ = Simulator::Now().GetNanoSeconds();
		network_.begin(start_ns_);
	}
	began(flow);
	const auto &lasts_ns = flows_[flow]->flow().transfer.duration_ns;
	if (lasts_ns && !flows_[flow]->ends_itself())
		Simulator::Schedule(NanoSeconds(*lasts_ns), &Flows::end, this, flow);
}

void Flows::end(size_t flow)
{
	if (over_[flow])
		return;
	over_[flow] = true;
	flows_[flow]->end();
	ended(flow);
	if (--left_ == 0)
		Simulator::Stop();
}

void Flows::fail(size_t flow, const std::string &why)
{
	error_ = (flows_.size() > 1 ? flows_[flow]->flow().name + ": " : "") + why;
	Simulator::Stop();
}

int64_t Flows::time_ns() const
{
	return start_ns_ < 0 ? 0 : Simulator::Now().GetNanoSeconds() - start_ns_;
}

uint64_t Flows::bytes() const
{
	uint64_t sum = 0;
	for (const auto &flow : flows_)
		sum += flow->bytes();
	return sum;
}

} // namespace landspeed
