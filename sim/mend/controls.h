// Two of ns-3's congestion controls, put right where they differ from what they are written from.
// docs/ns3/11-controls.md.
#pragma once

#include "mend/control.h"

#include <ns3/tcp-dctcp.h>

namespace landspeed
{

// DCTCP that halves its window at a loss (RFC 8257 section 3.5); ns-3's reduces it by what was
// marked, which is nothing where nothing marks. Its receiver acknowledges the first packet of a run
// of marked or unmarked ones at once, as Linux's does (tcp_dctcp.h), and not with the next one.
class Dctcp : public Control<Dctcp, ns3::TcpDctcp>
{
public:
	static constexpr auto TYPE = "Dctcp", NAME = "DCTCP";

	uint32_t GetSsThresh(ConstTcb tcb, uint32_t bytesInFlight) override;
	void CwndEvent(Tcb tcb, ns3::TcpSocketState::TcpCAEvent_t event) override;

private:
	bool marked_ = false, turned_ = false; // the last packet was; unlike the one before it
};

// Scalable TCP (Kelly 2003, and Linux) adds a segment for each hundred acknowledged, and takes an
// eighth off the window at a loss; ns-3's adds one for each fifty, and takes the eighth off what is
// in flight then, which is less by all that was found lost.
class Scalable : public Control<Scalable, ns3::TcpNewReno>
{
public:
	static constexpr auto TYPE = "Scalable", NAME = "Scalable";

	uint32_t GetSsThresh(ConstTcb tcb, uint32_t bytesInFlight) override;

protected:
	void CongestionAvoidance(Tcb tcb, uint32_t segmentsAcked) override;

private:
	uint32_t acknowledged_segments_ = 0; // since the window last grew
};

} // namespace landspeed
