// What a socket (socket.h) sends, and sends again; what acknowledgments make of that is in
// acknowledgments.cc.
#include "mend/burst.h"
#include "mend/prr.h"
#include "mend/send_buffer.h"
#include "mend/socket.h"

#include <ns3/simulator.h>
#include <ns3/tcp-congestion-ops.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr uint32_t MOST_WAIT_S = 120; // for a timeout, and for a probe; Linux: TCP_RTO_MAX

} // namespace

SendBuffer &TcpSocket::Sending() const
{
	return *static_cast<SendBuffer *>(PeekPointer(m_txBuffer));
}

int TcpSocket::Send(Ptr<Packet> p, uint32_t)
{
	SendBuffer &buffer = Sending();
	const bool open = m_state == ESTABLISHED || m_state == SYN_SENT || m_state == CLOSE_WAIT;
	if (!open || m_shutdownSend || !buffer.Add(p)) {
		m_errno = !open ? ERROR_NOTCONN : m_shutdownSend ? ERROR_SHUTDOWN : ERROR_MSGSIZE;
		return -1;
	}
	written_bytes_ += p->GetSize();
	m_rateOps->CalculateAppLimited(m_tcb->m_cWnd, m_tcb->m_bytesInFlight, m_tcb->m_segmentSize,
				       buffer.TailSequence(), m_tcb->m_nextTxSequence,
				       buffer.GetLost(), buffer.GetRetransmitsCount());
	// A little later, so that the application can fill the buffer first.
	if (m_state != SYN_SENT && AvailableWindow() > 0 && !m_sendPendingDataEvent.IsRunning())
		m_sendPendingDataEvent =
		    Simulator::Schedule(TimeStep(1), &TcpSocket::SendAllowed, this);
	return static_cast<int>(p->GetSize());
}

uint32_t TcpSocket::GetTxAvailable() const
{
	return Sending().Available();
}

void TcpSocket::SetSegSize(uint32_t size)
{
	TcpSocketBase::SetSegSize(size);
	Sending().SetSegmentSize(size);
}

uint32_t TcpSocket::BytesInFlight() const
{
	m_tcb->m_bytesInFlight = Sending().BytesInFlight();
	return m_tcb->m_bytesInFlight;
}

// Part (C): what the window allows, if nobody waits for more to send at once.
void TcpSocket::SendAllowed()
{
	SendBuffer &buffer = Sending();
	if (buffer.Size() == 0 || (m_endPoint == nullptr && m_endPoint6 == nullptr))
		return;
	const uint32_t segment_bytes = m_tcb->m_segmentSize;
	for (uint32_t window = AvailableWindow(); window > 0; window = AvailableWindow()) {
		SequenceNumber32 from, to;
		if (IsPaced() ||
		    (m_tcb->m_congState == TcpSocketState::CA_OPEN && m_state == FIN_WAIT_1) ||
		    !buffer.NextSeg(&from, &to, m_tcb->m_congState == TcpSocketState::CA_RECOVERY))
			return;
		const uint32_t left = buffer.SizeFromSequence(from);
		if (left < window)
			NotifySend(GetTxAvailable());
		const bool silly = window < segment_bytes && left > window; // RFC 1122 4.2.3.4
		const bool small = !m_noDelay && UnAckDataCount() > 0 && left < segment_bytes;
		if (silly || small)
			return;
		if (m_tcb->m_bytesInFlight.Get() == 0)
			m_congestionControl->CwndEvent(m_tcb, TcpSocketState::CA_EVENT_TX_START);
		m_tcb->m_nextTxSequence = from;
		const uint32_t most =
		    std::min({window, segment_bytes, static_cast<uint32_t>(to - from)});
		const uint32_t sent = SendDataPacket(from, most, m_connected);
		m_tcb->m_nextTxSequence += sent;
		if (IsPacingEnabled() && m_pacingTimer.IsExpired()) {
			Pace(sent);
			return;
		}
	}
}

// Whether the next segment has to wait for its time.
bool TcpSocket::IsPaced() const
{
	return IsPacingEnabled() && m_pacingTimer.IsRunning() &&
	       paced_together_ >= BurstSegments(*m_tcb);
}

void TcpSocket::Pace(uint32_t sent_bytes)
{
	const bool more = m_pacingTimer.IsRunning();
	const Time left = more ? m_pacingTimer.GetDelayLeft() : Time();
	paced_together_ = more ? paced_together_ + 1 : 1;
	m_pacingTimer.Cancel();
	m_pacingTimer.Schedule(left + m_tcb->m_pacingRate.Get().CalculateBytesTxTime(sent_bytes));
}

uint32_t TcpSocket::SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck)
{
	SendBuffer &buffer = Sending();
	const bool starts = BytesInFlight() == 0;
	SentSegment *segment = buffer.CopyFromSequence(maxSize, seq);
	m_rateOps->SkbSent(segment, starts);
	const bool again = segment->m_retrans;
	const uint32_t size = segment->size;
	const Ptr<Packet> packet = buffer.Bytes(*segment);
	if (IsPacingEnabled() && (m_pacingTimer.IsExpired() || !IsPaced()))
		Pace(size);
	uint8_t flags = withAck ? TcpHeader::ACK : 0;
	if (withAck)
		m_delAckCount = 0;
	if (!again && m_tcb->m_ecnState == TcpSocketState::ECN_ECE_RCVD &&
	    m_ecnEchoSeq.Get() > m_ecnCWRSeq.Get()) {
		m_tcb->m_ecnState = TcpSocketState::ECN_CWR_SENT;
		m_ecnCWRSeq = seq;
		flags |= TcpHeader::CWR;
	}
	Tag(packet, again);
	if (m_closeOnEmpty && buffer.SizeFromSequence(seq + size) == 0) {
		flags |= TcpHeader::FIN;
		if (m_state == ESTABLISHED)
			m_state = FIN_WAIT_1;
		else if (m_state == CLOSE_WAIT)
			m_state = LAST_ACK;
	}
	const TcpHeader header = HeaderOf(flags, seq);
	if (m_retxEvent.IsExpired())
		m_retxEvent = Simulator::Schedule(m_rto, &TcpSocket::ReTxTimeout, this);
	Transmit(packet, header);
	UpdateRttHistory(seq, size, again);
	if (m_tcb->m_congState == TcpSocketState::CA_RECOVERY ||
	    m_tcb->m_congState == TcpSocketState::CA_CWR)
		m_recoveryOps->UpdateBytesSent(size);
	const SequenceNumber32 end = seq + size;
	if (!again)
		Simulator::ScheduleNow(&TcpSocket::NotifyDataSent, this,
				       static_cast<uint32_t>(end - m_tcb->m_highTxMark.Get()));
	m_tcb->m_highTxMark = std::max(end, m_tcb->m_highTxMark.Get());
	return size;
}

// The segment that is next, whatever the window is; if there is none, the oldest once more.
void TcpSocket::Retransmit()
{
	SequenceNumber32 from, to;
	if (!Sending().NextSeg(&from, &to, false)) {
		from = m_txBuffer->HeadSequence();
		to = from + m_tcb->m_segmentSize;
	}
	m_tcb->m_nextTxSequence = from;
	SendDataPacket(from, static_cast<uint32_t>(to - from), true);
}

// Step (4).
void TcpSocket::EnterRecovery(uint32_t delivered_bytes)
{
	SendBuffer &buffer = Sending();
	if (!buffer.IsLost(buffer.HeadSequence()))
		buffer.MarkHeadAsLost();
	m_recover = m_tcb->m_highTxMark;
	m_recoverActive = true;
	SetState(TcpSocketState::CA_RECOVERY);
	m_tcb->m_ssThresh = m_congestionControl->GetSsThresh(m_tcb, BytesInFlight());
	if (!m_congestionControl->HasCongControl())
		m_recoveryOps->EnterRecovery(m_tcb, m_dupAckCount, UnAckDataCount(),
					     delivered_bytes);
	Retransmit();
}

void TcpSocket::SetState(TcpSocketState::TcpCongState_t state)
{
	m_congestionControl->CongestionStateSet(m_tcb, state);
	m_tcb->m_congState = state;
}

void TcpSocket::DoRecovery(uint32_t delivered_bytes, bool is_duplicate)
{
	if (m_congestionControl->HasCongControl())
		return;
#ifdef NS3_TELLS_MORE
	m_recoveryOps->DoRecovery(m_tcb, delivered_bytes, is_duplicate);
#else
	(void)is_duplicate;
	m_recoveryOps->DoRecovery(m_tcb, delivered_bytes);
#endif
}

// An acknowledgment that sacks something new.
void TcpSocket::Duplicate(uint32_t delivered_bytes)
{
	const auto state = m_tcb->m_congState.Get();
	if (state == TcpSocketState::CA_LOSS)
		return;
	if (state == TcpSocketState::CA_RECOVERY) {
		DoRecovery(delivered_bytes, true);
		return;
	}
	++m_dupAckCount;
	if (state == TcpSocketState::CA_OPEN)
		SetState(TcpSocketState::CA_DISORDER);
	else if (state != TcpSocketState::CA_DISORDER)
		return;
	// A recovery that is over is not begun again by what was sent in it.
	const bool may = m_highRxAckMark.Get() >= m_recover || !m_recoverActive;
	if ((m_dupAckCount == m_retxThresh && may) ||
	    Sending().IsLost(m_highRxAckMark.Get() + m_tcb->m_segmentSize))
		EnterRecovery(delivered_bytes);
}

// RFC 5681 section 5, RFC 6675 section 5.1: all that was sent is lost, but for what is sacked.
void TcpSocket::TimeOut()
{
	if (m_dataRetrCount == 0) {
		NotifyErrorClose();
		DeallocateEndPoint();
		return;
	}
	--m_dataRetrCount;
	const uint32_t in_flight_bytes = BytesInFlight();
	m_dupAckCount = 0;
	Sending().SetSentListLost();
	m_recover = m_tcb->m_highTxMark;
	m_recoverActive = true;
	m_rto = Min(m_rto + m_rto, Seconds(MOST_WAIT_S));
	m_history.clear();
	m_tcb->m_ssThresh = m_congestionControl->GetSsThresh(m_tcb, in_flight_bytes);
	m_congestionControl->CwndEvent(m_tcb, TcpSocketState::CA_EVENT_LOSS);
	SetState(TcpSocketState::CA_LOSS);
	m_tcb->m_cWnd = m_tcb->m_segmentSize;
	m_tcb->m_cWndInfl = m_tcb->m_cWnd;
	m_pacingTimer.Cancel();
	SendAllowed();
}

// RFC 9293 section 3.8.6.1: a byte into the window that is closed.
void TcpSocket::PersistTimeout()
{
	m_persistTimeout = Min(m_persistTimeout + m_persistTimeout, Seconds(MOST_WAIT_S));
	SendBuffer &buffer = Sending();
	if (const SentSegment *probe = buffer.CopyFromSequence(1, m_tcb->m_nextTxSequence)) {
		const Ptr<Packet> packet = buffer.Bytes(*probe);
		buffer.ResetLastSegmentSent();
		Tag(packet, true);
		Transmit(packet, HeaderOf(0, m_tcb->m_nextTxSequence));
	}
	m_persistEvent = Simulator::Schedule(m_persistTimeout, &TcpSocket::PersistTimeout, this);
}

} // namespace landspeed
