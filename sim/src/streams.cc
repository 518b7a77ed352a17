#include "streams.h"

#include "tuning.h"

#include <ns3/inet-socket-address.h>
#include <ns3/inet6-socket-address.h>
#include <ns3/simulator.h>
#include <sstream>

namespace landspeed
{

using namespace ns3;

namespace
{

constexpr uint16_t receiver_port = 5201;
constexpr uint16_t first_sender_port = 40000;
constexpr uint32_t chunk_packets = 64; ///< handed to a socket at once
constexpr uint32_t read_bytes = 1 << 16;

const std::string not_connected = "a stream could not connect: every attempt was lost";

Address socket_address(const Address &address, uint16_t port)
{
	if (Ipv4Address::IsMatchingType(address))
		return InetSocketAddress(Ipv4Address::ConvertFrom(address), port);
	return Inet6SocketAddress(Ipv6Address::ConvertFrom(address), port);
}

uint16_t port_of(const Address &address)
{
	if (InetSocketAddress::IsMatchingType(address))
		return InetSocketAddress::ConvertFrom(address).GetPort();
	return Inet6SocketAddress::ConvertFrom(address).GetPort();
}

} // namespace

Streams::Streams(const Plan &plan, const Flow &flow, const Network::Ends &ends, bool whole_stack)
    // ECN's bits are in the IP header.
    : plan_(plan), flow_(flow), ends_(ends),
      whole_stack_(whole_stack || flow.transfer.ecn || flow.transfer.congestion_control == "dctcp"),
      streams_(flow.transfer.streams)
{
	chunk_bytes_ = chunk_packets * plan.mss_bytes(flow);
	for (uint32_t i = 0; i < streams_.size(); i++) {
		streams_[i].index = i;
		if (flow.transfer.bytes) {
			const uint64_t count = streams_.size(), all = *flow.transfer.bytes;
			streams_[i].share_bytes = all / count + (i < all % count ? 1 : 0);
			delivered_ += streams_[i].share_bytes == 0 ? 1 : 0;
		}
	}
	listen();
	const int64_t connects_ns = plan.idle_ns() + flow.start_ns;
	for (auto &stream : streams_)
		Simulator::Schedule(NanoSeconds(connects_ns), &Streams::connect, this,
				    std::ref(stream));
	moved_ns_ = connects_ns;
	Simulator::Schedule(NanoSeconds(connects_ns), &Streams::watch, this);
}

/// Sockets are made as the defaults are, and flows differ.
Ptr<StreamSocket> Streams::make_socket(const Host &host)
{
	grant_ = tcp_settle(plan_, flow_);
	return StreamSocket::create(host.node);
}

void Streams::listen()
{
	listener_ = make_socket(ends_.receiver);
	listener_->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
				     Callback<void, Ptr<Socket>, const Address &>(
					 [this](const Ptr<Socket> &socket, const Address &from) {
						 accepted(socket, from);
					 }));
	if (listener_->Bind(socket_address(ends_.receiver.address, receiver_port)) != 0 ||
	    listener_->Listen() != 0)
		throw std::logic_error("the receiver cannot listen");
}

void Streams::connect(Stream &stream)
{
	stream.sender = make_socket(ends_.sender);
	stream.sender->limit_host_queue(*ends_.sender_lane,
					host_queue(plan_.mss_bytes(flow_), ends_));
	stream.sender->SetConnectCallback(
	    Callback<void, Ptr<Socket>>([this](const Ptr<Socket> &) {
		    connected_++;
		    start_when_complete();
	    }),
	    Callback<void, Ptr<Socket>>([this](const Ptr<Socket> &) { failed(not_connected); }));
	const std::string lost = "stream " + std::to_string(stream.index) + " was lost: no answer";
	stream.sender->SetCloseCallbacks(
	    MakeNullCallback<void, Ptr<Socket>>(),
	    Callback<void, Ptr<Socket>>([this, lost](const Ptr<Socket> &) { failed(lost); }));
	const auto port = static_cast<uint16_t>(first_sender_port + stream.index);
	if (stream.sender->Bind(socket_address(ends_.sender.address, port)) != 0 ||
	    stream.sender->Connect(socket_address(ends_.receiver.address, receiver_port)) != 0)
		throw std::logic_error("the sender cannot connect");
}

void Streams::accepted(const Ptr<Socket> &socket, const Address &from)
{
	const auto index = static_cast<uint32_t>(port_of(from) - first_sender_port);
	streams_[index].receiver = DynamicCast<StreamSocket>(socket);
	socket->SetRecvCallback(Callback<void, Ptr<Socket>>(
	    [this, index](const Ptr<Socket> &from_socket) { read(index, from_socket); }));
	accepted_++;
	start_when_complete();
}

/// As the engine: four looks within the time after which a transfer that rests is given up.
void Streams::watch()
{
	const int64_t now_ns = Simulator::Now().GetNanoSeconds();
	const int64_t stall_ns = flow_.transfer.stall_ns;
	const uint64_t moved = bytes() + connected_ + accepted_;
	if (ended_)
		return;
	if (moved != moved_)
		moved_ns_ = now_ns;
	moved_ = moved;
	if (now_ns - moved_ns_ < stall_ns) {
		Simulator::Schedule(NanoSeconds(stall_ns / 4), &Streams::watch, this);
		return;
	}
	std::ostringstream rested;
	rested << "the receiver took no data for " << static_cast<double>(stall_ns) / 1e9 << " s";
	failed(start_ns_ < 0 ? not_connected : rested.str());
}

void Streams::start_when_complete()
{
	if (connected_ < streams_.size() || accepted_ < streams_.size())
		return;
	start_ns_ = Simulator::Now().GetNanoSeconds();
	// The engine's connections have each carried a token by now.
	for (const auto &stream : streams_)
		stream.sender->learn_offer_of(*stream.receiver);
	if (!whole_stack_)
		start_carrying();
	started();
	for (const auto &stream : streams_)
		Simulator::Schedule(NanoSeconds(flow_.transfer.start_stagger_ns * stream.index),
				    &Streams::begin, this, stream.index);
}

void Streams::start_carrying()
{
	std::vector<StreamSocket *> senders, receivers;
	for (const auto &stream : streams_) {
		senders.push_back(PeekPointer(stream.sender));
		receivers.push_back(PeekPointer(stream.receiver));
	}
	ends_.sender.device->start_carrying(senders, first_sender_port);
	ends_.receiver.device->start_carrying(receivers, first_sender_port);
}

void Streams::begin(uint32_t index)
{
	streams_[index].sender->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>(
	    [this, index](const Ptr<Socket> &, uint32_t) { feed(index); }));
	feed(index);
}

/// Keeps the sending socket's buffer full, as a sender that never waits for its data does.
void Streams::feed(uint32_t index)
{
	Stream &stream = streams_[index];
	while (!ended_) {
		const uint64_t left_bytes = stream.share_bytes - stream.handed_bytes;
		const uint64_t bytes = std::min<uint64_t>(chunk_bytes_, left_bytes);
		if (bytes == 0 || stream.sender->GetTxAvailable() < bytes)
			return;
		if (stream.sender->Send(Create<Packet>(static_cast<uint32_t>(bytes)), 0) < 0)
			return;
		stream.handed_bytes += bytes;
	}
}

void Streams::read(uint32_t index, const Ptr<Socket> &socket)
{
	Stream &stream = streams_[index];
	uint64_t bytes = 0;
	// In pieces: what a filled hole sets free at once is up to a whole window.
	while (const Ptr<Packet> packet = socket->Recv(read_bytes, 0)) {
		if (packet->GetSize() == 0)
			break;
		bytes += packet->GetSize();
	}
	if (bytes == 0)
		return;
	const int64_t now_ns = Simulator::Now().GetNanoSeconds() - start_ns_;
	if (stream.first_ns < 0)
		stream.first_ns = now_ns;
	stream.last_ns = now_ns;
	if (now_ns == stream.first_ns)
		stream.early_bytes += bytes;
	stream.bytes += bytes;
	if (stream.bytes == stream.share_bytes && ++delivered_ == streams_.size())
		delivered();
}

/// As the engine ends: both programs drop their connections. What is on the way goes on to its end.
void Streams::end()
{
	ended_ = true;
	ends_.sender.device->shut();
	ends_.receiver.device->shut();
	for (auto &stream : streams_)
		for (const auto &socket : {stream.sender, stream.receiver})
			if (socket)
				socket->abandon();
}

uint64_t Streams::bytes() const
{
	uint64_t sum = 0;
	for (const auto &stream : streams_)
		sum += stream.bytes;
	return sum;
}

} // namespace landspeed
