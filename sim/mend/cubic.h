#pragma once

#include "mend/control.h"
#include "mend/hystart.h"

#include <optional>

namespace landspeed
{

// CUBIC of RFC 9438, with Linux's HyStart (hystart.h) and what else Linux does that shows on a long
// path: until the first loss the window grows by at least a twentieth each round trip, and the
// curve is read one round trip ahead. docs/ns3/07-hystart.md.
class Cubic : public Control<Cubic>
{
public:
	static constexpr auto TYPE = "Cubic", NAME = "CUBIC";
	static ns3::TypeId GetTypeId();

	uint32_t GetSsThresh(ConstTcb tcb, uint32_t bytesInFlight) override;
	void IncreaseWindow(Tcb tcb, uint32_t segmentsAcked) override;
	void PktsAcked(Tcb tcb, uint32_t segmentsAcked, const ns3::Time &rtt) override;
	void CongestionStateSet(Tcb tcb,
				const ns3::TcpSocketState::TcpCongState_t newState) override;
	void CwndEvent(Tcb tcb, const ns3::TcpSocketState::TcpCAEvent_t event) override;

private:
	struct Epoch { // congestion avoidance since the last reduction; windows in segments, times
		       // in seconds
		double start_s;
		double origin; // the plateau: W_max
		double k_s;    // until the plateau is reached
		double reno;   // W_est: what Reno would have
	};

	double Growth(const ns3::TcpSocketState &tcb); // segments for each segment acknowledged

	bool hystart_on_ = true;
	bool paced_ = false;
	std::optional<Hystart> hystart_;
	ns3::SequenceNumber32 round_end_;
	std::optional<Epoch> epoch_;
	double last_max_ = 0; // W_max, segments; 0: no loss yet
	double credit_ = 0;   // part of a segment that the window has grown by
	double last_ack_s_ = 0;
};

} // namespace landspeed
