#pragma once

#include <ns3/tcp-congestion-ops.h>

namespace landspeed
{

// Puts Linux's conditions around any of ns-3's congestion controls (attribute Algorithm): the
// window grows only while it is what limits the sender (RFC 7661's idea; Linux's is_cwnd_limited),
// that is while it was full in the last round trip, and in slow start while it is below twice what
// was in flight;
// and each segment newly delivered counts (RFC 3465 without a limit), not each acknowledgment.
// docs/ns3/04-window-validation.md.
class WindowValidation : public ns3::TcpCongestionOps
{
public:
	static ns3::TypeId GetTypeId();

	std::string GetName() const override;
	void Init(ns3::Ptr<ns3::TcpSocketState> tcb) override;
	uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb,
			     uint32_t bytesInFlight) override;
	void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked) override;
	void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked,
		       const ns3::Time &rtt) override;
	void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> tcb,
				const ns3::TcpSocketState::TcpCongState_t newState) override;
	void CwndEvent(ns3::Ptr<ns3::TcpSocketState> tcb,
		       const ns3::TcpSocketState::TcpCAEvent_t event) override;
	bool HasCongControl() const override;
	void CongControl(ns3::Ptr<ns3::TcpSocketState> tcb,
			 const ns3::TcpRateOps::TcpRateConnection &rc,
			 const ns3::TcpRateOps::TcpRateSample &rs) override;
	ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

	ns3::Ptr<ns3::TcpCongestionOps> Algorithm() const; // the one inside

private:
	bool Limits(ns3::Ptr<const ns3::TcpSocketState> tcb);

	ns3::TypeId algorithm_type_;
	ns3::Ptr<ns3::TcpCongestionOps> algorithm_;
	bool full_ = false;           // the window, in this round trip
	uint32_t most_in_flight_ = 0; // in this round trip
	ns3::SequenceNumber32 round_end_;
};

} // namespace landspeed
