// H-TCP as Linux has it; ns-3's differs from the draft in four places. docs/ns3/14-htcp-vegas.md.
#pragma once

#include "mend/control.h"

#include <ns3/nstime.h>

namespace landspeed
{

// H-TCP (draft-leith-tcp-htcp-06): a window that grows by alpha segments in a round trip, and alpha
// with the time since the last loss; at a loss, beta of the window is kept, by how far the queue
// had stretched the round trip.
class Htcp : public Control<Htcp, ns3::TcpNewReno>
{
public:
	static constexpr auto TYPE = "Htcp", NAME = "H-TCP";

	void PktsAcked(Tcb tcb, uint32_t segmentsAcked, const ns3::Time &rtt) override;
	void CongestionStateSet(Tcb tcb,
				const ns3::TcpSocketState::TcpCongState_t newState) override;
	void CwndEvent(Tcb tcb, const ns3::TcpSocketState::TcpCAEvent_t event) override;
	uint32_t GetSsThresh(ConstTcb tcb, uint32_t bytesInFlight) override;

protected:
	void CongestionAvoidance(Tcb tcb, uint32_t segmentsAcked) override;

private:
	void update_alpha();
	void update_beta();
	void measure_bandwidth(const ns3::TcpSocketState &tcb, uint32_t segments);

	double alpha_ = 1, beta_ = 0.5;
	bool adapts_ = false;                // beta, from the second loss at an even bandwidth on
	uint32_t acknowledged_segments_ = 0; // since the window last grew
	ns3::Time congested_;                // the end of the last recovery
	ns3::Time least_rtt_ = ns3::Time::Max(), most_rtt_;
	double bandwidth_ = 0, most_bandwidth_ = 0, former_bandwidth_ = 0; // segments per second
	uint64_t counted_segments_ = 0; // of the present measurement, which began at:
	ns3::Time counted_since_;
};

} // namespace landspeed
