// What a socket (socket.h) receives and acknowledges.
#include "mend/reassembly.h"
#include "mend/socket.h"

#include <ns3/ipv4-end-point.h>
#include <ns3/ipv6-end-point.h>
#include <ns3/simulator.h>
#include <ns3/tcp-congestion-ops.h>
#include <ns3/tcp-l4-protocol.h>
#include <ns3/tcp-option-sack.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr uint8_t SACK_HEADER = 2, SACK_BLOCK = 8; // bytes of the option (RFC 2018 section 3)

} // namespace

Reassembly &TcpSocket::Received() const
{
	return *static_cast<Reassembly *>(PeekPointer(m_tcb->m_rxBuffer));
}

Ptr<Packet> TcpSocket::Recv(uint32_t maxSize, uint32_t)
{
	if (Received().Size() == 0 && m_state == CLOSE_WAIT)
		return Create<Packet>(); // the end
	Ptr<Packet> packet = Received().Extract(maxSize);
	read_bytes_ += packet ? packet->GetSize() : 0;
	return packet;
}

uint32_t TcpSocket::GetRxAvailable() const
{
	return Received().Available();
}

void TcpSocket::ReceivedData(Ptr<Packet> packet, const TcpHeader &tcpHeader)
{
	Reassembly &received = Received();
	const SequenceNumber32 expected = received.NextRxSequence();
	if (!received.Add(packet, tcpHeader)) {
		Acknowledge();
		return;
	}
	if (received.NextRxSequence() > expected) {
		if (!m_shutdownRecv)
			NotifyDataRecv();
		const bool has_fin = (tcpHeader.GetFlags() & TcpHeader::FIN) != 0;
		if (received.Finished() && !has_fin) { // the last hole before a FIN is filled
			DoPeerClose();
			return;
		}
	}
	const bool hole = received.Size() > received.Available();
	const bool filled = received.NextRxSequence() > expected + packet->GetSize();
	const bool single = acknowledged_singly_ > 0;
	acknowledged_singly_ -= single;
	// RFC 5681 section 4.2: at once where a hole is, or was.
	if (hole || filled || single || ++m_delAckCount >= m_delAckMaxCount) {
		m_congestionControl->CwndEvent(m_tcb, TcpSocketState::CA_EVENT_NON_DELAYED_ACK);
		Acknowledge();
		return;
	}
	m_congestionControl->CwndEvent(m_tcb, TcpSocketState::CA_EVENT_DELAYED_ACK);
	if (m_delAckCount > 1)
		return; // the timer was set for the first of them
	acknowledge_at_ = Simulator::Now() + m_delAckTimeout;
	if (!acknowledge_.IsRunning())
		acknowledge_ =
		    Simulator::Schedule(m_delAckTimeout, &TcpSocket::AcknowledgeWhenDue, this);
}

// With what ECN echoes (RFC 3168 section 6.1.3).
void TcpSocket::Acknowledge()
{
	const bool marked = m_tcb->m_ecnState == TcpSocketState::ECN_CE_RCVD ||
			    m_tcb->m_ecnState == TcpSocketState::ECN_SENDING_ECE;
	SendEmptyPacket(marked ? TcpHeader::ACK | TcpHeader::ECE : TcpHeader::ACK);
	if (marked)
		m_tcb->m_ecnState = TcpSocketState::ECN_SENDING_ECE;
}

void TcpSocket::AcknowledgeWhenDue()
{
	if (m_delAckCount == 0)
		return;
	if (acknowledge_at_ > Simulator::Now())
		acknowledge_ = Simulator::Schedule(acknowledge_at_ - Simulator::Now(),
						   &TcpSocket::AcknowledgeWhenDue, this);
	else
		DelAckTimeout();
}

// The library does all but the SACK blocks, which it takes from its own buffer.
void TcpSocket::SendEmptyPacket(uint8_t flags)
{
	if (!Received().GetSackList().empty() && (flags & ~TcpHeader::ECE) == TcpHeader::ACK)
		SendAcknowledgment(flags);
	else
		TcpSocketBase::SendEmptyPacket(flags);
}

void TcpSocket::SendAcknowledgment(uint8_t flags)
{
	if (m_endPoint == nullptr && m_endPoint6 == nullptr)
		return;
	const bool ended = m_state == FIN_WAIT_1 || m_state == LAST_ACK || m_state == CLOSING;
	TcpHeader header = HeaderOf(flags, m_tcb->m_nextTxSequence.Get() + (ended ? 1 : 0));
	AddBlocks(header);
	m_delAckCount = 0;
	m_highTxAck = std::max(m_highTxAck, header.GetAckNumber());
	const auto packet = Create<Packet>();
	Tag(packet, false);
	Transmit(packet, header);
}

// Newer ones of ns-3 leave to the caller which packets may be marked (RFC 3168 section 6.1).
void TcpSocket::Tag(const Ptr<Packet> &packet, bool again) const
{
#ifdef NS3_ASKS_FOR_ECT
	AddSocketTags(packet, IsEct(packet->GetSize() == 0 ? PURE_ACK : again ? RE_XMT : DATA));
#else
	(void)again;
	AddSocketTags(packet);
#endif
}

void TcpSocket::AddBlocks(TcpHeader &header) const
{
	const TcpOptionSack::SackList &blocks = Received().GetSackList();
	if (blocks.empty())
		return;
	const auto option = CreateObject<TcpOptionSack>();
	size_t room = static_cast<size_t>(header.GetMaxOptionLength() - header.GetOptionLength() -
					  SACK_HEADER) /
		      SACK_BLOCK;
	for (auto block = blocks.begin(); block != blocks.end() && room > 0; ++block, --room)
		option->AddSackBlock(*block);
	header.AppendOption(option);
}

TcpHeader TcpSocket::HeaderOf(uint8_t flags, const SequenceNumber32 &sequence)
{
	TcpHeader header;
	header.SetFlags(flags);
	header.SetSequenceNumber(sequence);
	header.SetAckNumber(Received().NextRxSequence());
	header.SetSourcePort(m_endPoint ? m_endPoint->GetLocalPort() : m_endPoint6->GetLocalPort());
	header.SetDestinationPort(m_endPoint ? m_endPoint->GetPeerPort()
					     : m_endPoint6->GetPeerPort());
	header.SetWindowSize(AdvertisedWindowSize());
	AddOptions(header);
	return header;
}

void TcpSocket::Transmit(const Ptr<Packet> &packet, const TcpHeader &header)
{
	m_txTrace(packet, header, this);
	if (m_endPoint)
		m_tcp->SendPacket(packet, header, m_endPoint->GetLocalAddress(),
				  m_endPoint->GetPeerAddress(), m_boundnetdevice);
	else
		m_tcp->SendPacket(packet, header, m_endPoint6->GetLocalAddress(),
				  m_endPoint6->GetPeerAddress(), m_boundnetdevice);
}

} // namespace landspeed
