// Three of ns-3's congestion controls, put right where they differ from what they are written from.
// docs/ns3/11-controls.md.
#pragma once

#include <ns3/tcp-bbr.h>
#include <ns3/tcp-congestion-ops.h>
#include <ns3/tcp-dctcp.h>

namespace landspeed
{

// BBR that goes back to the window of before a timeout once the loss is repaired, and that does not
// take the rate of the few segments of PROBE_RTT for the path's, as Linux's does and does not;
// ns-3's stays at the few segments that it has then, and measures their rate. A round trip as short
// as the shortest puts PROBE_RTT off in ns-3's; as in Linux since 5.10, only a shorter one does.
class Bbr : public ns3::TcpBbr
{
public:
	static ns3::TypeId GetTypeId();

	std::string GetName() const override;
	void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> tcb,
				const ns3::TcpSocketState::TcpCongState_t newState) override;
	void CwndEvent(ns3::Ptr<ns3::TcpSocketState> tcb,
		       const ns3::TcpSocketState::TcpCAEvent_t event) override;
	void CongControl(ns3::Ptr<ns3::TcpSocketState> tcb,
			 const ns3::TcpRateOps::TcpRateConnection &rc,
			 const ns3::TcpRateOps::TcpRateSample &rs) override;
	ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

private:
	bool Renews(const ns3::Time &round_trip);
	void LookWhetherProbed(bool probed);

	ns3::Time shortest_ = ns3::Time::Max(); // what ns-3's has as m_rtProp,
	ns3::Time renewed_at_;                  // and as m_rtPropStamp
	uint64_t few_from_ = 0, few_until_ = 0; // delivered when what PROBE_RTT limits was sent
	bool repairing_ = false;                // since a loss or a timeout
	bool timed_out_ = false;                // meanwhile
	uint32_t window_before_ = 0;
};

// DCTCP that halves its window at a loss (RFC 8257 section 3.5); ns-3's reduces it by what was
// marked, which is nothing where nothing marks.
class Dctcp : public ns3::TcpDctcp
{
public:
	static ns3::TypeId GetTypeId();

	std::string GetName() const override;
	uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb,
			     uint32_t bytesInFlight) override;
	ns3::Ptr<ns3::TcpCongestionOps> Fork() override;
};

// Scalable TCP (Kelly 2003, and Linux) adds a segment for each hundred acknowledged, and takes an
// eighth off the window at a loss; ns-3's adds one for each fifty, and takes the eighth off what is
// in flight then, which is less by all that was found lost.
class Scalable : public ns3::TcpNewReno
{
public:
	static ns3::TypeId GetTypeId();

	std::string GetName() const override;
	uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb,
			     uint32_t bytesInFlight) override;
	ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

protected:
	void CongestionAvoidance(ns3::Ptr<ns3::TcpSocketState> tcb,
				 uint32_t segmentsAcked) override;

private:
	uint32_t acknowledged_segments_ = 0; // since the window last grew
};

} // namespace landspeed
