// Vegas as Linux has it; ns-3's keeps all but a segment at a loss. docs/ns3/14-htcp-vegas.md.
#pragma once

#include "mend/new_reno.h"
#include "mend/rounds.h"

namespace landspeed
{

// Vegas (Brakmo and Peterson 1995): looks once in a round trip at how much of the window waits in
// queues, and keeps that between two and four segments; a loss halves the window.
class Vegas : public Control<Vegas, NewReno>
{
public:
	static constexpr auto TYPE = "Vegas", NAME = "Vegas";

	void PktsAcked(Tcb tcb, uint32_t segmentsAcked, const ns3::Time &rtt) override;
	void CongestionStateSet(Tcb tcb,
				const ns3::TcpSocketState::TcpCongState_t newState) override;
	void IncreaseWindow(Tcb tcb, uint32_t segmentsAcked) override;
	uint32_t GetSsThresh(ConstTcb tcb, uint32_t bytesInFlight) override;

private:
	void judge_round(const Tcb &tcb, uint32_t segments_acked);

	Rounds rounds_;
	bool open_ = true;                   // no loss is being repaired
	ns3::SequenceNumber32 few_until_{0}; // acknowledged when a round trip had few samples
};

} // namespace landspeed
