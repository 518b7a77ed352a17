// YeAH as Linux has it; ns-3's takes every queue for a congested path. docs/ns3/11-controls.md.
#pragma once

#include "mend/control.h"
#include "mend/rounds.h"

namespace landspeed
{

// YeAH (Baiocchi, Castellani and Vacirca 2007): grows as Scalable does while the queue that it sees
// is short, and as Reno does while it is long; then it also takes off what waits there.
class Yeah : public Control<Yeah, ns3::TcpNewReno>
{
public:
	static constexpr auto TYPE = "Yeah", NAME = "YeAH";

	void PktsAcked(Tcb tcb, uint32_t segmentsAcked, const ns3::Time &rtt) override;
	void CongestionStateSet(Tcb tcb,
				const ns3::TcpSocketState::TcpCongState_t newState) override;
	void IncreaseWindow(Tcb tcb, uint32_t segmentsAcked) override;
	uint32_t GetSsThresh(ConstTcb tcb, uint32_t bytesInFlight) override;

protected:
	void CongestionAvoidance(Tcb tcb, uint32_t segmentsAcked) override;

private:
	void judge_round(ns3::TcpSocketState &tcb);
	void shorten_queue(ns3::TcpSocketState &tcb);

	Rounds rounds_;
	uint32_t queue_segments_ = 0;        // as the last round trip showed it
	uint32_t slow_rounds_ = 0;           // since the queue was last short
	uint32_t fast_rounds_ = 0;           // since the last loss
	uint32_t reno_segments_ = 2;         // what a Reno beside it is believed to have
	uint32_t acknowledged_segments_ = 0; // since the window last grew
};

} // namespace landspeed
