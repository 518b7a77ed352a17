// The mended TCP socket, with a host that makes it wait and with what a sampler wants to see of it.
#pragma once

#include "lane.h"

#include <cstdint>
#include <mend/mend.h>
#include <mend/ring.h>
#include <string>

namespace landspeed
{

/// What a sample shows of a socket; names and units as in Linux's tcp_info.
struct SocketView {
	uint64_t cwnd_packets = 0, ssthresh_packets = 0;
	uint64_t srtt_us = 0, rttvar_us = 0, min_rtt_us = 0;
	uint64_t retransmits = 0, bytes_retransmitted = 0;
	uint64_t lost_packets = 0, in_flight_packets = 0;
	uint64_t state = 0; ///< 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss
	uint64_t pacing_rate_bps = 0;
	uint64_t snd_wnd_bytes = 0, mss_bytes = 0;
};

/// What a stream may have in its own host, payload bytes: it sends until as much is there, and goes
/// on when so much is left.
struct HostQueue {
	uint64_t most_bytes = 0, go_on_bytes = 0;
};

class HostDevice;

class StreamSocket : public TcpSocket
{
public:
	/// A socket of a node, made as the defaults say (SetTcpDefaults).
	static ns3::Ptr<StreamSocket> create(const ns3::Ptr<ns3::Node> &node);

	[[nodiscard]] SocketView view() const;
	[[nodiscard]] std::string congestion_control() const;

	/// Takes a segment of an established connection, as DoForwardUp does with one that came
	/// through IP.
	void receive(const ns3::Ptr<ns3::Packet> &payload, const ns3::TcpHeader &header);

	/// What the other end offers, with its scale. A SYN's offer has none (RFC 7323
	/// section 2.2); where something was acknowledged before the transfer, the sender knows the
	/// whole of it.
	void learn_offer_of(const StreamSocket &other);

	/// No more of what the socket has sent is in its own host, as with Linux's TCP small
	/// queues: the rest waits in the socket, where it is not yet in flight. `host` is the
	/// host's own lane.
	void limit_host_queue(const Lane &host, const HostQueue &queue);

	/// What is sent goes to the device past ns3::TcpL4Protocol and IP.
	void carry_through(HostDevice &device);

	/// Nothing is sent any more, and no timer runs.
	void abandon();

protected:
	uint32_t AvailableWindow() const override;
	ns3::Ptr<ns3::TcpSocketBase> Fork() override;
	uint32_t SendDataPacket(ns3::SequenceNumber32 sequence, uint32_t most_bytes,
				bool with_ack) override;
	void SendEmptyPacket(uint8_t flags) override;
	void Transmit(const ns3::Ptr<ns3::Packet> &packet, const ns3::TcpHeader &header) override;

private:
	struct Sent {
		int64_t leaves_ns = 0;
		uint32_t bytes = 0;
	};

	bool host_is_full() const;
	void wake();

	HostDevice *device_ = nullptr; ///< that carries; null: none
	const Lane *host_ = nullptr;
	HostQueue host_queue_;
	mutable Ring<Sent> in_host_; ///< sent, and not yet known to have left the host
	mutable uint64_t in_host_bytes_ = 0;
	mutable ns3::EventId wake_;
	uint64_t bytes_retransmitted_ = 0;
	bool abandoned_ = false;
};

} // namespace landspeed
