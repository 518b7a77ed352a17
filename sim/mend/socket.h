#pragma once

#include <ns3/tcp-socket-base.h>

#include <cstdint>

namespace landspeed
{

class Deviation;
class Reassembly;
class SendBuffer;

// What is sampled of a socket at an instant.
struct TcpFigures {
	uint64_t acknowledged_bytes; // by the peer, since the beginning
	uint64_t received_bytes;     // read by the application, since the beginning
	uint32_t congestion_window_bytes;
	uint32_t slow_start_threshold_bytes;
	uint32_t lost_bytes;
	uint32_t in_flight_bytes; // RFC 6675, pipe
	uint32_t peer_window_bytes;
	uint64_t retransmitted_segments; // since the beginning
	uint64_t retransmission_timeouts;
	ns3::Time smoothed_rtt;
	ns3::Time last_rtt;
	ns3::Time retransmission_timeout;
	const char *state; // "open", "disorder", "cwr", "recovery", "loss"
};

// ns-3's TCP with the timers and the round-trip measurement that Linux has. ns-3's socket makes and
// ends connections; what it does with data is not virtual and costs the square of the window, so
// that data is sent, received and acknowledged here (sender.cc, acknowledgments.cc, receiver.cc),
// from buffers of our own (send_buffer.h, reassembly.h):
//
// - Round trips are measured to the nanosecond, of the newest segment acknowledged that was sent
// once (Karn); ns-3 takes
//   them from the timestamp option, in milliseconds, and of the oldest. What congestion controls
//   are told as the last round trip is that measurement; ns-3 3.37 tells them the smoothed one.
//   docs/ns3/08-round-trips.md.
// - RTO = SRTT + max(4 RTTVAR, MinRto): the floor bounds the variance term (RFC 6298 with Linux's
//   TCP_RTO_MIN), not the sum, which any path longer than the floor exceeds anyway; and RTTVAR is
//   the greatest of a round trip (deviation.h). docs/ns3/05-rto-floor.md.
// - It starts anew with each acknowledgment of new data, also in recovery, and with each
//   retransmission of the head; ns-3 3.37 lets it run from the first partial acknowledgment on.
//   docs/ns3/05-rto-floor.md.
// - Before it fires, the end of what was sent is probed (RFC 8985, TLP).
//   docs/ns3/12-lost-retransmissions.md.
// - The timers of retransmissions and of delayed acknowledgments are moved, not made anew with each
//   acknowledgment: a hundred thousand dead events waited in the scheduler, the more the faster the
//   stream.
// - A SYN's answer that comes once more is acknowledged once more: the first acknowledgment of it
//   was lost. ns-3 3.37 takes no notice, so that the connection never begins at the other end.
//   docs/ns3/15-lost-handshake.md.
// - The rate at which it paces is computed in 64 bits, from the smoothed round trip; ns-3 3.37
//   multiplies the window by 8 in 32 bits. docs/ns3/13-pacing-rate.md.
// - The first segments are acknowledged one by one. docs/ns3/18-quick-acknowledgments.md.
// - The rate of delivery is that of the segment sent last. docs/ns3/16-delivery-rate.md.
class TcpSocket : public ns3::TcpSocketBase
{
public:
	static ns3::TypeId GetTypeId();

	TcpSocket();
	TcpSocket(const TcpSocket &sock);
	~TcpSocket() override;

	ns3::TypeId GetInstanceTypeId() const override;

	TcpFigures Figures() const;

	int Send(ns3::Ptr<ns3::Packet> p, uint32_t flags) override;
	ns3::Ptr<ns3::Packet> Recv(uint32_t maxSize, uint32_t flags) override;
	uint32_t GetTxAvailable() const override;
	uint32_t GetRxAvailable() const override;
	int Close() override;

protected:
	ns3::Ptr<ns3::TcpSocketBase> Fork() override;
	void EstimateRtt(const ns3::TcpHeader &tcpHeader) override;
	void UpdateRttHistory(const ns3::SequenceNumber32 &seq, uint32_t sz,
			      bool isRetransmission) override;
	void SetSegSize(uint32_t size) override;
	uint32_t BytesInFlight() const override;
	uint32_t SendDataPacket(ns3::SequenceNumber32 seq, uint32_t maxSize, bool withAck) override;
	void ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader &tcpHeader) override;
	void NewAck(const ns3::SequenceNumber32 &seq, bool resetRTO) override;
	void ReceivedData(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader &tcpHeader) override;
	void SendEmptyPacket(uint8_t flags) override;
	void ReTxTimeout() override;
	void PersistTimeout() override;
	void DoForwardUp(ns3::Ptr<ns3::Packet> packet, const ns3::Address &from,
			 const ns3::Address &to) override;

	// What the window allows.
	void SendAllowed();

	// A segment without data, with SACK blocks.
	void SendAcknowledgment(uint8_t flags);

	// The way out of data, and of SendAcknowledgment.
	virtual void Transmit(const ns3::Ptr<ns3::Packet> &packet, const ns3::TcpHeader &header);

private:
	void MakeBuffers();
	ns3::TcpHeader HeaderOf(uint8_t flags, const ns3::SequenceNumber32 &sequence);
	void Tag(const ns3::Ptr<ns3::Packet> &packet, bool again) const;

	// sender.cc
	SendBuffer &Sending() const;
	bool IsPaced() const;
	void Pace(uint32_t sent_bytes);
	void Retransmit();
	void EnterRecovery(uint32_t delivered_bytes);
	void SetState(ns3::TcpSocketState::TcpCongState_t state);
	void DoRecovery(uint32_t delivered_bytes, bool is_duplicate);
	void Duplicate(uint32_t delivered_bytes);
	void TimeOut();

	// acknowledgments.cc
	void HearMarks(const ns3::TcpHeader &header, const ns3::SequenceNumber32 &head,
		       uint32_t delivered_bytes);
	void Acknowledged(const ns3::SequenceNumber32 &acknowledged,
			  const ns3::SequenceNumber32 &head, bool is_duplicate,
			  uint32_t delivered_bytes);
	void Repaired(const ns3::SequenceNumber32 &acknowledged, bool is_duplicate,
		      uint32_t duplicates_before, uint32_t segments, uint32_t bytes);
	void TellRecovery(bool advanced);

	// receiver.cc
	Reassembly &Received() const;
	void Acknowledge();
	void AcknowledgeWhenDue();
	void AddBlocks(ns3::TcpHeader &header) const;

	// socket.cc, round_trips.cc
	ns3::Time Timeout() const;
	Deviation &Smoothed() const;
	ns3::Time RoundTripOfSacked(const ns3::TcpHeader &header);
	void MeasureByTimestamp(const ns3::TcpHeader &header);
	ns3::Time TimeoutOfHead() const;
	void RestartTimer();
	void StartTimer(const ns3::Time &timeout);
	void UpdatePacing();
	bool MayProbe() const;
	ns3::Time ProbeTimeout() const;
	void Probe();

	ns3::Time deadline_;
	ns3::Time head_again_at_;          // when the oldest segment was sent once more, last
	ns3::EventId acknowledge_;         // when the delayed acknowledgment may be due
	ns3::Time acknowledge_at_;         // when it is, if m_delAckCount says that one waits
	uint32_t acknowledged_singly_ = 0; // segments that still are, each at once
	uint32_t paced_together_ = 0;      // segments that left since the pacing timer last ran out
	bool probing_ = false;             // a probe was sent and nothing acknowledged since
	uint64_t written_bytes_ = 0;
	uint64_t read_bytes_ = 0;
	uint64_t retransmitted_segments_ = 0;
	uint64_t timeouts_ = 0;
	uint64_t losses_ = 0; // that recovery knows of
};

// Gives a new socket its node, and the congestion control and recovery that were set as defaults
// (mend.h), and its estimator.
void AttachTcpSocket(const ns3::Ptr<TcpSocket> &socket, const ns3::Ptr<ns3::Node> &node);

// A socket of the node, of a class derived from TcpSocket.
template <class Socket> ns3::Ptr<Socket> CreateSocketOf(const ns3::Ptr<ns3::Node> &node)
{
	auto socket = ns3::CreateObject<Socket>();
	AttachTcpSocket(socket, node);
	return socket;
}

ns3::Ptr<TcpSocket> CreateTcpSocket(const ns3::Ptr<ns3::Node> &node);

} // namespace landspeed
