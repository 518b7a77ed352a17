#include "stream_socket.h"

#include "host.h"

#include <ns3/node.h>
#include <ns3/rtt-estimator.h>
#include <ns3/simulator.h>
#include <ns3/tcp-congestion-ops.h>

namespace landspeed
{

using namespace ns3;

Ptr<StreamSocket> StreamSocket::create(const Ptr<ns3::Node> &node)
{
	return CreateSocketOf<StreamSocket>(node);
}

Ptr<TcpSocketBase> StreamSocket::Fork()
{
	return CopyObject<StreamSocket>(this);
}

uint32_t StreamSocket::SendDataPacket(SequenceNumber32 sequence, uint32_t most_bytes, bool with_ack)
{
	const bool again = sequence < m_tcb->m_highTxMark.Get();
	const uint32_t sent = TcpSocket::SendDataPacket(sequence, most_bytes, with_ack);
	if (host_ != nullptr && sent > 0) {
		in_host_.push({host_->free_ns(), sent});
		in_host_bytes_ += sent;
	}
	if (again)
		bytes_retransmitted_ += sent;
	return sent;
}

void StreamSocket::carry_through(HostDevice &device)
{
	device_ = &device;
}

void StreamSocket::SendEmptyPacket(uint8_t flags)
{
	if (device_ != nullptr && (flags & TcpHeader::ACK) != 0)
		SendAcknowledgment(flags);
	else
		TcpSocket::SendEmptyPacket(flags);
}

void StreamSocket::Transmit(const Ptr<Packet> &packet, const TcpHeader &header)
{
	if (device_ != nullptr)
		device_->carry(packet, header);
	else
		TcpSocket::Transmit(packet, header);
}

void StreamSocket::receive(const Ptr<Packet> &payload, const TcpHeader &header)
{
	const SequenceNumber32 sequence = header.GetSequenceNumber();
	if (!IsValidTcpSegment(sequence, header.GetSerializedSize(), payload->GetSize()))
		return;
	ProcessOptionTimestamp(header.GetOption(TcpOption::TS), sequence);
	EstimateRtt(header);
	UpdateWindowSize(header);
	if (m_rWnd.Get() == 0 && m_persistEvent.IsExpired())
		m_persistEvent =
		    Simulator::Schedule(m_persistTimeout, &StreamSocket::PersistTimeout, this);
	ProcessEstablished(payload, header);
}

void StreamSocket::learn_offer_of(const StreamSocket &other)
{
	m_rWnd = uint32_t{other.AdvertisedWindowSize()} << m_sndWindShift;
}

void StreamSocket::limit_host_queue(const Lane &host, const HostQueue &queue)
{
	host_ = &host;
	host_queue_ = queue;
}

void StreamSocket::abandon()
{
	abandoned_ = true;
	CancelAllTimers();
	wake_.Cancel();
}

uint32_t StreamSocket::AvailableWindow() const
{
	return abandoned_ || (host_ != nullptr && host_is_full()) ? 0
								  : TcpSocket::AvailableWindow();
}

/// Whether as much as is allowed waits in the host; then the socket goes on when enough of it
/// has left.
bool StreamSocket::host_is_full() const
{
	const int64_t now_ns = Simulator::Now().GetNanoSeconds();
	while (!in_host_.empty() && in_host_.front().leaves_ns <= now_ns) {
		in_host_bytes_ -= in_host_.front().bytes;
		in_host_.pop();
	}
	if (in_host_bytes_ < host_queue_.most_bytes)
		return false;
	if (!wake_.IsRunning()) {
		uint64_t left_bytes = in_host_bytes_, position = in_host_.head();
		while (left_bytes > host_queue_.go_on_bytes)
			left_bytes -= in_host_.at(position++).bytes;
		wake_ =
		    Simulator::Schedule(NanoSeconds(in_host_.at(position - 1).leaves_ns - now_ns),
					&StreamSocket::wake, const_cast<StreamSocket *>(this));
	}
	return true;
}

void StreamSocket::wake()
{
	if (m_state == ESTABLISHED || m_state == CLOSE_WAIT)
		SendAllowed();
}

std::string StreamSocket::congestion_control() const
{
	return m_congestionControl->GetName();
}

SocketView StreamSocket::view() const
{
	SocketView view;
	const uint32_t mss = m_tcb->m_segmentSize;
	const auto microseconds = [](const Time &time) {
		return static_cast<uint64_t>(time.GetMicroSeconds());
	};
	view.mss_bytes = mss;
	view.cwnd_packets = m_tcb->GetCwndInSegments();
	view.ssthresh_packets = m_tcb->GetSsThreshInSegments();
	if (m_rtt->GetNSamples() > 0) {
		view.srtt_us = microseconds(m_rtt->GetEstimate());
		view.rttvar_us = microseconds(m_rtt->GetVariation());
	}
	if (m_tcb->m_minRtt != Time::Max())
		view.min_rtt_us = microseconds(m_tcb->m_minRtt);
	const TcpFigures figures = Figures();
	view.retransmits = figures.retransmitted_segments;
	view.bytes_retransmitted = bytes_retransmitted_;
	view.lost_packets = (figures.lost_bytes + mss - 1) / mss;
	view.in_flight_packets = (figures.in_flight_bytes + mss - 1) / mss;
	view.state = static_cast<uint64_t>(m_tcb->m_congState.Get());
	if (m_tcb->m_pacing)
		view.pacing_rate_bps = m_tcb->m_pacingRate.Get().GetBitRate();
	view.snd_wnd_bytes = m_rWnd.Get();
	return view;
}

} // namespace landspeed
