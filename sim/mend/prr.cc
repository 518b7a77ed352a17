#include "mend/prr.h"

#include <ns3/tcp-socket-state.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

NS_OBJECT_ENSURE_REGISTERED(PrrRecovery);

TypeId PrrRecovery::GetTypeId()
{
	static TypeId id = TypeId("landspeed::PrrRecovery")
			       .SetParent<TcpRecoveryOps>()
			       .AddConstructor<PrrRecovery>();
	return id;
}

std::string PrrRecovery::GetName() const
{
	return "PRR";
}

void PrrRecovery::EnterRecovery(Ptr<TcpSocketState> tcb, uint32_t, uint32_t unAckDataCount,
				uint32_t deliveredBytes)
{
	delivered_ = 0;
	sent_ = 0;
	flight_size_ = std::max<uint64_t>(unAckDataCount, 1);
	// After a mark ns-3's socket calls DoRecovery for the same acknowledgment, too.
	if (tcb->m_congState != TcpSocketState::CA_CWR)
		recover(tcb, deliveredBytes);
}

#ifdef NS3_TELLS_MORE
void PrrRecovery::DoRecovery(Ptr<TcpSocketState> tcb, uint32_t deliveredBytes, bool)
#else
void PrrRecovery::DoRecovery(Ptr<TcpSocketState> tcb, uint32_t deliveredBytes)
#endif
{
	recover(tcb, deliveredBytes);
}

void PrrRecovery::recover(const Ptr<TcpSocketState> &tcb, uint32_t delivered_bytes)
{
	delivered_ += delivered_bytes;
	uint64_t pipe = tcb->m_bytesInFlight;
	uint64_t threshold = tcb->m_ssThresh;
	uint64_t may_send = 0;
	if (pipe > threshold) {
		uint64_t share = (delivered_ * threshold + flight_size_ - 1) / flight_size_;
		may_send = share > sent_ ? share - sent_ : 0;
	} else {
		uint64_t owed = delivered_ > sent_ ? delivered_ - sent_ : 0;
		uint64_t limit = std::max<uint64_t>(owed, delivered_bytes);
		limit += safe_ ? tcb->m_segmentSize : 0;
		may_send = std::min(threshold - pipe, limit);
	}
	if (sent_ == 0)
		may_send =
		    std::max<uint64_t>(may_send, tcb->m_segmentSize); // the fast retransmit itself
	safe_ = false;
	tcb->m_cWnd = static_cast<uint32_t>(std::min<uint64_t>(pipe + may_send, UINT32_MAX));
	tcb->m_cWndInfl = tcb->m_cWnd;
}

void PrrRecovery::Learn(bool safe)
{
	safe_ = safe;
}

void PrrRecovery::ExitRecovery(Ptr<TcpSocketState> tcb)
{
	tcb->m_cWndInfl = tcb->m_cWnd;
}

void PrrRecovery::UpdateBytesSent(uint32_t bytesSent)
{
	sent_ += bytesSent;
}

Ptr<TcpRecoveryOps> PrrRecovery::Fork()
{
	return CopyObject<PrrRecovery>(this);
}

} // namespace landspeed
