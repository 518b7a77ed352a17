// Illinois as Linux has it; ns-3's does not grow where it adds less than a segment in a round trip.
// docs/ns3/11-controls.md.
#pragma once

#include "mend/control.h"

#include <ns3/nstime.h>
#include <ns3/sequence-number.h>

namespace landspeed
{

// TCP Illinois (Liu, Basar and Srikant 2008): the longer the queue, as the mean of a round trip
// shows it, the less a window grows, and the more a loss takes off.
class Illinois : public Control<Illinois, ns3::TcpNewReno>
{
public:
	static constexpr auto TYPE = "Illinois", NAME = "Illinois";
	Illinois();

	void PktsAcked(Tcb tcb, uint32_t segmentsAcked, const ns3::Time &rtt) override;
	void CongestionStateSet(Tcb tcb,
				const ns3::TcpSocketState::TcpCongState_t newState) override;
	void IncreaseWindow(Tcb tcb, uint32_t segmentsAcked) override;
	uint32_t GetSsThresh(ConstTcb tcb, uint32_t bytesInFlight) override;

protected:
	void CongestionAvoidance(Tcb tcb, uint32_t segmentsAcked) override;

private:
	void begin_round(const ns3::TcpSocketState &tcb);
	void judge_round(const ns3::TcpSocketState &tcb);
	void update_alpha(double queueing_s, double most_s);
	void update_beta(double queueing_s, double most_s);

	double alpha_, beta_;
	bool was_long_ = false;     // the queue, since alpha was last at its largest
	uint32_t short_rounds_ = 0; // then
	ns3::Time shortest_ = ns3::Time::Max(), longest_;
	ns3::Time sum_; // of this round trip's samples
	int64_t samples_ = 0;
	ns3::SequenceNumber32 round_end_{0};
	uint32_t acknowledged_segments_ = 0; // since the window last grew
};

} // namespace landspeed
