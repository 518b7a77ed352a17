#include "mend/controls.h"

#include <ns3/tcp-header.h>
#include <ns3/tcp-socket-state.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr uint32_t SCALABLE_SEGMENTS_FOR_ONE = 100; // Kelly's a = 0.01
constexpr uint32_t SCALABLE_LOSS_SHARE = 8;         // his b = 1/8

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Dctcp);
NS_OBJECT_ENSURE_REGISTERED(Scalable);

uint32_t Dctcp::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight)
{
	// The socket asks for a mark's answer while it takes in the mark, outside a recovery.
	const bool marked = tcb->m_ecnState == TcpSocketState::ECN_ECE_RCVD &&
			    tcb->m_congState != TcpSocketState::CA_RECOVERY &&
			    tcb->m_congState != TcpSocketState::CA_LOSS;
	const uint32_t left =
	    marked ? TcpDctcp::GetSsThresh(tcb, bytesInFlight) : tcb->m_cWnd.Get() / 2;
	// Of one segment the acknowledgment is delayed, and a flow among many would stand.
	return std::max(left, 2 * tcb->m_segmentSize);
}

void Dctcp::CwndEvent(Tcb tcb, TcpSocketState::TcpCAEvent_t event)
{
	const bool is_marked = event == TcpSocketState::CA_EVENT_ECN_IS_CE;
	if (is_marked || event == TcpSocketState::CA_EVENT_ECN_NO_CE) {
		turned_ = is_marked != marked_;
		marked_ = is_marked;
	}
	TcpDctcp::CwndEvent(tcb, event);
	if (event != TcpSocketState::CA_EVENT_DELAYED_ACK || !turned_)
		return;
	turned_ = false;
	tcb->m_sendEmptyPacketCallback(marked_ ? TcpHeader::ACK | TcpHeader::ECE : TcpHeader::ACK);
	TcpDctcp::CwndEvent(tcb, TcpSocketState::CA_EVENT_NON_DELAYED_ACK);
}

// Below a hundred segments, as Reno does.
void Scalable::CongestionAvoidance(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	const uint32_t for_one = std::min(tcb->GetCwndInSegments(), SCALABLE_SEGMENTS_FOR_ONE);
	acknowledged_segments_ += segmentsAcked;
	tcb->m_cWnd += acknowledged_segments_ / for_one * tcb->m_segmentSize;
	acknowledged_segments_ %= for_one;
}

uint32_t Scalable::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
	const uint32_t segments = tcb->GetCwndInSegments();
	return std::max(segments - segments / SCALABLE_LOSS_SHARE, 2U) * tcb->m_segmentSize;
}

} // namespace landspeed
