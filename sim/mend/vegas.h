// Vegas as Linux has it; ns-3's keeps all but a segment at a loss. docs/ns3/14-htcp-vegas.md.
#pragma once

#include "mend/new_reno.h"
#include "mend/rounds.h"

namespace landspeed
{

// Vegas (Brakmo and Peterson 1995): looks once in a round trip at how much of the window waits in
// queues, and keeps that between two and four segments; a loss halves the window.
class Vegas : public NewReno
{
public:
	static ns3::TypeId GetTypeId();

	std::string GetName() const override;
	void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked,
		       const ns3::Time &rtt) override;
	void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> tcb,
				const ns3::TcpSocketState::TcpCongState_t newState) override;
	void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked) override;
	uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb,
			     uint32_t bytesInFlight) override;
	ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

private:
	void judge_round(const ns3::Ptr<ns3::TcpSocketState> &tcb, uint32_t segments_acked);

	Rounds rounds_;
	bool open_ = true;                   // no loss is being repaired
	ns3::SequenceNumber32 few_until_{0}; // acknowledged when a round trip had few samples
};

} // namespace landspeed
