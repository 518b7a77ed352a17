#include "mend/socket.h"

#include "mend/delivery_rate.h"
#include "mend/deviation.h"
#include "mend/reassembly.h"
#include "mend/send_buffer.h"
#include "mend/validation.h"

#include <ns3/node.h>
#include <ns3/object-factory.h>
#include <ns3/simulator.h>
#include <ns3/tcp-congestion-ops.h>
#include <ns3/tcp-l4-protocol.h>
#include <ns3/tcp-recovery-ops.h>
#include <ns3/type-id.h>
#include <ns3/uinteger.h>

#include <algorithm>
#include <array>
#include <string>

using namespace ns3;

namespace landspeed
{

NS_OBJECT_ENSURE_REGISTERED(TcpSocket);

TypeId TcpSocket::GetTypeId()
{
	static TypeId id = TypeId("landspeed::TcpSocket")
			       .SetParent<TcpSocketBase>()
			       .AddConstructor<TcpSocket>()
			       .AddAttribute("AcknowledgedSingly",
					     "Segments at the beginning, each acknowledged at once",
					     UintegerValue(0),
					     MakeUintegerAccessor(&TcpSocket::acknowledged_singly_),
					     MakeUintegerChecker<uint32_t>());
	return id;
}

TcpSocket::TcpSocket()
{
	MakeBuffers();
}

// Of a connection that is accepted: it delivers for itself.
TcpSocket::TcpSocket(const TcpSocket &sock)
    : TcpSocketBase(sock), deadline_(sock.deadline_), head_again_at_(sock.head_again_at_),
      acknowledge_(sock.acknowledge_), acknowledge_at_(sock.acknowledge_at_),
      acknowledged_singly_(sock.acknowledged_singly_), probing_(sock.probing_),
      written_bytes_(sock.written_bytes_), read_bytes_(sock.read_bytes_),
      retransmitted_segments_(sock.retransmitted_segments_), timeouts_(sock.timeouts_)
{
	MakeBuffers();
}

TcpSocket::~TcpSocket()
{
	acknowledge_.Cancel();
}

// The library has made its own, which have only the sizes that were set.
void TcpSocket::MakeBuffers()
{
	const auto received = CreateObject<Reassembly>();
	received->SetMaxBufferSize(m_tcb->m_rxBuffer->MaxBufferSize());
	m_tcb->m_rxBuffer = received;
	const auto sending = CreateObject<SendBuffer>();
	sending->SetMaxBufferSize(m_txBuffer->MaxBufferSize());
	sending->SetSegmentSize(m_tcb->m_segmentSize);
	sending->SetRWndCallback(MakeCallback(&TcpSocket::GetRWnd, this));
	m_txBuffer = sending;
	m_rateOps = CreateObject<DeliveryRate>();
	m_pacingTimer.SetFunction(&TcpSocket::SendAllowed, this);
}

TypeId TcpSocket::GetInstanceTypeId() const
{
	return GetTypeId();
}

Ptr<TcpSocketBase> TcpSocket::Fork()
{
	return CopyObject<TcpSocket>(this);
}

int TcpSocket::Close()
{
	if (Received().Size() > 0) { // RFC 9293 section 3.10.4: what is unread is lost
		SendRST();
		return 0;
	}
	if (Sending().SizeFromSequence(m_tcb->m_nextTxSequence) > 0) {
		m_closeOnEmpty = true; // the FIN goes with the last of it
		return 0;
	}
	return TcpSocketBase::Close();
}

void TcpSocket::DoForwardUp(Ptr<Packet> packet, const Address &from, const Address &to)
{
	constexpr uint8_t answer = TcpHeader::SYN | TcpHeader::ACK;
	TcpHeader header;
	packet->PeekHeader(header);
	if (m_state == ESTABLISHED && (header.GetFlags() & answer) == answer)
		SendEmptyPacket(TcpHeader::ACK); // RFC 9293 section 3.10.7.4, RFC 5961 section 4
	const bool was_connected = m_connected, was_shut = m_persistEvent.IsRunning();
	TcpSocketBase::DoForwardUp(packet, from, to);
	if (!was_connected && m_connected)
		Sending().Begin();
	if (was_connected != m_connected || (was_shut && !m_persistEvent.IsRunning()))
		SendAllowed();
}

void TcpSocket::RestartTimer()
{
	StartTimer(m_rto);
}

void TcpSocket::StartTimer(const Time &timeout)
{
	const Time wait = MayProbe() ? Min(ProbeTimeout(), timeout) : timeout;
	deadline_ = Simulator::Now() + wait;
	// A timer that is too early waits on when it fires (ReTxTimeout); one that is too late is
	// replaced.
	if (!m_retxEvent.IsRunning() || Simulator::GetDelayLeft(m_retxEvent) > wait) {
		m_retxEvent.Cancel();
		m_retxEvent = Simulator::Schedule(wait, &TcpSocket::ReTxTimeout, this);
	}
}

// RFC 8985 section 7.2: all went well so far, and nothing says that the end of what was sent has
// arrived.
bool TcpSocket::MayProbe() const
{
	return m_state == ESTABLISHED && m_sackEnabled && !probing_ &&
	       m_tcb->m_congState == TcpSocketState::CA_OPEN && m_rtt->GetNSamples() > 0 &&
	       Sending().GetSacked() == 0;
}

// A segment alone waits for the receiver to give up waiting for a second one. Linux has 200 ms for
// that (TCP_RTO_MIN), and 2 ms for two of them (tcp_schedule_loss_probe).
Time TcpSocket::ProbeTimeout() const
{
	constexpr uint32_t few_ms = 2;
	const Time more = m_history.size() > 1 ? MilliSeconds(few_ms) : m_minRto;
	return m_rtt->GetEstimate() * 2 + more;
}

// Section 7.3: a new segment if the receiver has room for it, else the last one once more. Its
// acknowledgment shows what was lost before it, and the window is reduced as at any loss.
void TcpSocket::Probe()
{
	SequenceNumber32 from;
	SequenceNumber32 to;
	probing_ = true;
	if (!Sending().NextSeg(&from, &to, false)) {
		to = m_tcb->m_highTxMark;
		from = to - static_cast<int32_t>(std::min(m_tcb->m_segmentSize, UnAckDataCount()));
	}
	m_retxEvent.Cancel();
	SendDataPacket(from, static_cast<uint32_t>(to - from), m_connected);
	m_tcb->m_nextTxSequence = std::max(m_tcb->m_nextTxSequence.Get(), to);
	RestartTimer();
}

// Linux: twice the window in a round trip while slow start is far from its end, then 1.2 times.
// docs/ns3/13-pacing-rate.md.
void TcpSocket::UpdatePacing()
{
	if (!m_tcb->m_pacing || m_congestionControl->HasCongControl() || m_rtt->GetNSamples() == 0)
		return;
	const uint64_t window_bytes = std::max(m_tcb->m_cWnd.Get(), m_tcb->m_bytesInFlight.Get());
	const bool early = m_tcb->m_cWnd < m_tcb->m_ssThresh / 2;
	const uint64_t percent = early ? m_tcb->m_pacingSsRatio : m_tcb->m_pacingCaRatio;
	const double rate_bps = static_cast<double>(window_bytes * 8 * percent) / 100 /
				m_rtt->GetEstimate().GetSeconds();
	m_tcb->m_pacingRate =
	    std::min(DataRate(static_cast<uint64_t>(rate_bps)), m_tcb->m_maxPacingRate);
}

void TcpSocket::NewAck(const SequenceNumber32 &seq, bool)
{
	m_dataRetrCount = m_dataRetries;
	if (m_state != SYN_RCVD) {
		m_rto = Timeout();
		probing_ = false;
		RestartTimer();
	}
	if (GetTxAvailable() > 0)
		NotifySend(GetTxAvailable());
	m_tcb->m_nextTxSequence = std::max(m_tcb->m_nextTxSequence.Get(), seq);
	if (Sending().Size() == 0 && m_state != FIN_WAIT_1 && m_state != CLOSING)
		m_retxEvent.Cancel();
}

void TcpSocket::ReTxTimeout()
{
	if (deadline_ > Simulator::Now()) {
		m_retxEvent = Simulator::Schedule(deadline_ - Simulator::Now(),
						  &TcpSocket::ReTxTimeout, this);
		return;
	}
	if (MayProbe() && m_tcb->m_highTxMark.Get() > m_txBuffer->HeadSequence()) {
		Probe();
		return;
	}
	// The library's sends a SYN or a FIN once more.
	const bool has_data = m_state != SYN_SENT && m_state != CLOSED && m_state != TIME_WAIT &&
			      Sending().Size() > 0;
	timeouts_ += m_state == ESTABLISHED && has_data;
	if (has_data)
		TimeOut();
	else
		TcpSocketBase::ReTxTimeout();
}

TcpFigures TcpSocket::Figures() const
{
	static const std::array<const char *, TcpSocketState::CA_LAST_STATE> names = {
	    "open", "disorder", "cwr", "recovery", "loss"};
	TcpFigures figures{};
	figures.acknowledged_bytes = written_bytes_ - Sending().Size();
	figures.received_bytes = read_bytes_;
	figures.congestion_window_bytes = m_tcb->m_cWnd;
	figures.slow_start_threshold_bytes = m_tcb->m_ssThresh;
	figures.lost_bytes = Sending().GetLost();
	figures.in_flight_bytes = Sending().BytesInFlight();
	figures.peer_window_bytes = m_rWnd;
	figures.retransmitted_segments = retransmitted_segments_;
	figures.retransmission_timeouts = timeouts_;
	figures.smoothed_rtt = m_rtt->GetEstimate();
	figures.last_rtt = m_tcb->m_lastRtt;
	figures.retransmission_timeout = m_rto;
	figures.state = names.at(m_tcb->m_congState.Get());
	return figures;
}

void AttachTcpSocket(const Ptr<TcpSocket> &socket, const Ptr<Node> &node)
{
	auto tcp = node->GetObject<TcpL4Protocol>();
	NS_ABORT_MSG_UNLESS(tcp, "the node has no TCP: install the internet stack first");
	auto create = [&](const char *attribute) {
		TypeIdValue type;
		tcp->GetAttribute(attribute, type);
		NS_ABORT_MSG_IF(attribute == std::string("SocketType") &&
				    type.Get() != WindowValidation::GetTypeId(),
				"the node was made before SetTcpDefaults");
		ObjectFactory factory;
		factory.SetTypeId(type.Get());
		return factory.Create();
	};
	socket->SetNode(node);
	socket->SetTcp(tcp);
	socket->SetRtt(CreateObject<Deviation>());
	socket->SetCongestionControlAlgorithm(DynamicCast<TcpCongestionOps>(create("SocketType")));
	socket->SetRecoveryAlgorithm(DynamicCast<TcpRecoveryOps>(create("RecoveryType")));
	tcp->AddSocket(socket);
}

Ptr<TcpSocket> CreateTcpSocket(const Ptr<Node> &node)
{
	return CreateSocketOf<TcpSocket>(node);
}

} // namespace landspeed
