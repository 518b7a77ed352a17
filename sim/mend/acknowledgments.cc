// What acknowledgments make of what a socket (socket.h) has sent: RFC 6675
// section 5. The congestion controls and the recovery are told what ns-3's socket tells them, in
// the same order.
#include "mend/prr.h"
#include "mend/send_buffer.h"
#include "mend/socket.h"

#include <ns3/tcp-congestion-ops.h>
#include <ns3/tcp-option-sack.h>
#include <ns3/tcp-rate-ops.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

void TcpSocket::ReceivedAck(Ptr<Packet> packet, const TcpHeader &tcpHeader)
{
	SendBuffer &buffer = Sending();
	const auto delivered = MakeCallback(&TcpRateOps::SkbDelivered, m_rateOps);
	const uint64_t losses_before = buffer.Losses();
	const uint32_t in_flight_before = BytesInFlight();
	const uint64_t delivered_before = m_rateOps->GetConnectionRate().m_delivered;
	uint32_t sacked = 0;
	if (tcpHeader.HasOption(TcpOption::SACK))
		sacked = buffer.Update(
		    DynamicCast<const TcpOptionSack>(tcpHeader.GetOption(TcpOption::SACK))
			->GetSackList(),
		    delivered);
	const SequenceNumber32 head = buffer.HeadSequence();
	const SequenceNumber32 acknowledged = tcpHeader.GetAckNumber();
	if (acknowledged >= head) {
		buffer.DiscardUpTo(acknowledged, delivered);
		const auto delivered_bytes = static_cast<uint32_t>(
		    m_rateOps->GetConnectionRate().m_delivered - delivered_before);
		m_tcb->m_lastAckedSackedBytes = delivered_bytes;
		HearMarks(tcpHeader, head, delivered_bytes);
		BytesInFlight();
		TellRecovery(acknowledged > head);
		Acknowledged(acknowledged, head, sacked > 0, delivered_bytes);
		UpdatePacing();
		if (m_congestionControl->HasCongControl()) {
			BytesInFlight();
			const auto lost_bytes = static_cast<uint32_t>(
			    (buffer.Losses() - losses_before) * m_tcb->m_segmentSize);
			m_congestionControl->CongControl(
			    m_tcb, m_rateOps->GetConnectionRate(),
			    m_rateOps->GenerateSample(delivered_bytes, lost_bytes, false,
						      in_flight_before, m_tcb->m_minRtt));
		}
	}
	if (packet->GetSize() > 0)
		ReceivedData(packet, tcpHeader);
	if (acknowledged >= head)
		SendAllowed();
}

// What ECN echoes reduces the window once in a round trip (RFC 3168 section 6.1.2).
void TcpSocket::HearMarks(const TcpHeader &header, const SequenceNumber32 &head,
			  uint32_t delivered_bytes)
{
	const SequenceNumber32 acknowledged = header.GetAckNumber();
	const bool marked = (header.GetFlags() & TcpHeader::ECE) != 0;
	if (m_tcb->m_congState == TcpSocketState::CA_CWR && acknowledged > m_recover) {
		m_tcb->m_congState = TcpSocketState::CA_OPEN;
		if (!m_congestionControl->HasCongControl()) {
			m_tcb->m_cWnd = m_tcb->m_ssThresh.Get();
			m_recoveryOps->ExitRecovery(m_tcb);
			m_congestionControl->CwndEvent(m_tcb,
						       TcpSocketState::CA_EVENT_COMPLETE_CWR);
		}
	}
	if (marked && acknowledged > head && m_tcb->m_ecnState != TcpSocketState::ECN_DISABLED) {
		if (m_ecnEchoSeq.Get() >= acknowledged)
			return;
		m_ecnEchoSeq = acknowledged;
		m_tcb->m_ecnState = TcpSocketState::ECN_ECE_RCVD;
		if (m_tcb->m_congState != TcpSocketState::CA_CWR)
			EnterCwr(delivered_bytes);
	} else if (!marked && m_tcb->m_ecnState == TcpSocketState::ECN_ECE_RCVD) {
		m_tcb->m_ecnState = TcpSocketState::ECN_IDLE;
	}
}

// Parts (A) and (B). `head`: the oldest byte not acknowledged before.
void TcpSocket::Acknowledged(const SequenceNumber32 &acknowledged, const SequenceNumber32 &head,
			     bool is_duplicate, uint32_t delivered_bytes)
{
	const uint32_t duplicates_before = m_dupAckCount;
	m_tcb->m_lastAckedSeq = acknowledged;
	if (is_duplicate)
		Duplicate(delivered_bytes);
	if (acknowledged == head) {
		if (acknowledged > m_tcb->m_highTxMark.Get())
			m_tcb->m_nextTxSequence = acknowledged; // of a FIN
		else if (acknowledged < m_tcb->m_highTxMark.Get())
			m_congestionControl->PktsAcked(m_tcb, 1, m_tcb->m_lastRtt);
		return;
	}
	// Whole segments; what is left over counts with the next acknowledgment.
	const uint32_t segment_bytes = m_tcb->m_segmentSize;
	const auto bytes = static_cast<uint32_t>(acknowledged - head);
	uint32_t segments = bytes / segment_bytes;
	m_bytesAckedNotProcessed += bytes % segment_bytes;
	if (m_bytesAckedNotProcessed >= segment_bytes) {
		++segments;
		m_bytesAckedNotProcessed -= segment_bytes;
	}
	if (!is_duplicate)
		m_dupAckCount = 0;
	const auto state = m_tcb->m_congState.Get();
	const bool repairs = acknowledged < m_recover;
	if (repairs && state == TcpSocketState::CA_RECOVERY) {
		if (segments > 0)
			DoRecovery(delivered_bytes, is_duplicate);
		if (!Sending().IsRetransmittedDataAcked(acknowledged + segment_bytes)) {
			Retransmit();
			m_tcb->m_cWndInfl =
			    SafeSubtraction(m_tcb->m_cWndInfl, segments * segment_bytes);
		}
		m_congestionControl->PktsAcked(m_tcb, 1, m_tcb->m_lastRtt);
		NewAck(acknowledged, true);
	} else if (repairs && state == TcpSocketState::CA_LOSS) {
		m_congestionControl->PktsAcked(m_tcb, segments, m_tcb->m_lastRtt);
		m_congestionControl->IncreaseWindow(m_tcb, segments);
		NewAck(acknowledged, true);
	} else if (state == TcpSocketState::CA_CWR) {
		m_congestionControl->PktsAcked(m_tcb, segments, m_tcb->m_lastRtt);
		if (segments > 0)
			DoRecovery(delivered_bytes, is_duplicate);
		NewAck(acknowledged, true);
	} else {
		Repaired(acknowledged, is_duplicate, duplicates_before, segments, bytes);
	}
}

// All that was lost when it was last asked is repaired, or nothing was.
void TcpSocket::Repaired(const SequenceNumber32 &acknowledged, bool is_duplicate,
			 uint32_t duplicates_before, uint32_t segments, uint32_t bytes)
{
	const auto state = m_tcb->m_congState.Get();
	const uint32_t segment_bytes = m_tcb->m_segmentSize;
	uint32_t told = segments;
	if (state == TcpSocketState::CA_DISORDER)
		told -= duplicates_before;
	else if (state == TcpSocketState::CA_RECOVERY)
		told = segments = bytes / segment_bytes;
	else if (state == TcpSocketState::CA_LOSS) // what was sent after the timeout
		told = segments = static_cast<uint32_t>(acknowledged - m_recover) / segment_bytes;
	if (state != TcpSocketState::CA_DISORDER || segments >= duplicates_before)
		m_congestionControl->PktsAcked(m_tcb, told, m_tcb->m_lastRtt);
	if (state == TcpSocketState::CA_RECOVERY) {
		m_congestionControl->CwndEvent(m_tcb, TcpSocketState::CA_EVENT_COMPLETE_CWR);
		m_dupAckCount = 0;
	}
	const bool opens =
	    state == TcpSocketState::CA_DISORDER ? !is_duplicate : state != TcpSocketState::CA_OPEN;
	if (opens)
		SetState(TcpSocketState::CA_OPEN);
	if (acknowledged >= m_recover)
		m_recoverActive = false;
	if (state == TcpSocketState::CA_RECOVERY) {
		NewAck(acknowledged, true);
		// BBR has gone back to its window of before already (tcp_end_cwnd_reduction).
		if (!m_congestionControl->HasCongControl())
			m_tcb->m_cWnd = m_tcb->m_ssThresh.Get();
		m_recoveryOps->ExitRecovery(m_tcb);
	}
	if (m_tcb->m_congState != TcpSocketState::CA_OPEN)
		return;
	m_congestionControl->IncreaseWindow(m_tcb, segments);
	m_tcb->m_cWndInfl = m_tcb->m_cWnd;
	NewAck(acknowledged, true);
	// Linux goes from one recovery into the next at once (tcp_fastretrans_alert): to BBR it is
	// one, so that it does not fall back to what is in flight each time.
	if (state == TcpSocketState::CA_RECOVERY && m_congestionControl->HasCongControl() &&
	    Sending().GetLost() > 0)
		EnterRecovery(0);
}

// Whether recovery goes well (RFC 9937, safeACK): the scoreboard has been updated just before.
void TcpSocket::TellRecovery(bool advanced)
{
	if (m_tcb->m_congState == TcpSocketState::CA_OPEN)
		return;
	const uint64_t losses = Sending().Losses();
	if (m_tcb->m_congState == TcpSocketState::CA_RECOVERY)
		if (const auto recovery = DynamicCast<PrrRecovery>(m_recoveryOps))
			recovery->Learn(advanced && losses == losses_);
	losses_ = losses;
}

} // namespace landspeed
