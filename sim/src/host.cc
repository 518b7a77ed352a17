#include "host.h"

#include "stream_socket.h"

#include <ns3/boolean.h>
#include <ns3/channel.h>
#include <ns3/config.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-l3-protocol.h>
#include <ns3/ipv4-static-routing-helper.h>
#include <ns3/ipv6-l3-protocol.h>
#include <ns3/ipv6-static-routing-helper.h>

namespace landspeed
{

using namespace ns3;

namespace
{

bool sends_data(uint16_t way)
{
	return way % 2 == 0;
}

/// What comes with a datagram.
struct Told {
	uint64_t number;
	int64_t sent_ns;
};

} // namespace

HostDevice::HostDevice(int ip_version, uint16_t mtu_bytes, uint16_t way)
    : mtu_bytes_(mtu_bytes),
      protocol_(ip_version == 6 ? Ipv6L3Protocol::PROT_NUMBER : Ipv4L3Protocol::PROT_NUMBER),
      ip_header_bytes_(ip_version == 6 ? 40 : 20), way_(way)
{
}

void HostDevice::take(Frame frame)
{
	if (shut_)
		return;
	if (frame.corrupt) { // its checksum is wrong
		corrupted_++;
		return;
	}
	if (frame.kind == Frame::Kind::echo) {
		take_echo(std::move(frame));
		return;
	}
	if (frame.kind == Frame::Kind::datagram) {
		Told told{};
		frame.packet->CopyData(reinterpret_cast<uint8_t *>(&told), sizeof told);
		datagram_came(told.number, told.sent_ns);
		return;
	}
	const CarriedSegment &segment = frame.segment;
	if (!segment) {
		receive_(this, frame.packet, protocol_, address_);
		return;
	}
	const uint16_t port = sends_data(way_) ? segment.destination_port() : segment.source_port();
	sockets_.at(static_cast<size_t>(port - port_of_first_))
	    ->receive(arrivals_.payload(segment), arrivals_.header(segment));
}

/// The receiving host sends it back.
void HostDevice::take_echo(Frame frame)
{
	if (!sends_data(way_)) {
		frame.way = way_;
		next_->take(std::move(frame));
		return;
	}
	uint64_t number = 0;
	frame.packet->CopyData(reinterpret_cast<uint8_t *>(&number), sizeof number);
	echoed(number);
}

void HostDevice::send_echo(uint32_t bytes, uint64_t number)
{
	const auto packet =
	    Create<Packet>(reinterpret_cast<const uint8_t *>(&number), sizeof number);
	packet->AddPaddingAtEnd(bytes - sizeof number);
	if (!shut_)
		next_->take({packet, bytes, false, Frame::Kind::echo, way_});
}

void HostDevice::send_datagram(uint32_t bytes, uint64_t number)
{
	const Told told{number, Simulator::Now().GetNanoSeconds()};
	const auto packet = Create<Packet>(reinterpret_cast<const uint8_t *>(&told), sizeof told);
	packet->AddPaddingAtEnd(bytes - sizeof told);
	if (!shut_)
		next_->take({packet, bytes, false, Frame::Kind::datagram, way_});
}

void HostDevice::start_carrying(std::vector<StreamSocket *> sockets, uint16_t port_of_first)
{
	sockets_ = std::move(sockets);
	port_of_first_ = port_of_first;
	for (StreamSocket *socket : sockets_)
		socket->carry_through(*this);
}

void HostDevice::carry(const Ptr<Packet> &payload, const TcpHeader &header)
{
	const uint32_t bytes = payload->GetSize() + header.GetSerializedSize() + ip_header_bytes_;
	if (!shut_)
		next_->take({nullptr, bytes, false, Frame::Kind::transfer, way_,
			     CarriedSegment(*payload, header)});
}

bool HostDevice::Send(Ptr<Packet> packet, const Address & /*dest*/, uint16_t /*protocol*/)
{
	if (!shut_)
		next_->take({packet, packet->GetSize(), false, Frame::Kind::transfer, way_});
	return true;
}

bool HostDevice::SendFrom(Ptr<Packet> packet, const Address & /*source*/, const Address &dest,
			  uint16_t protocol)
{
	return Send(packet, dest, protocol);
}

void HostDevice::SetIfIndex(uint32_t index)
{
	index_ = index;
}

uint32_t HostDevice::GetIfIndex() const
{
	return index_;
}

Ptr<Channel> HostDevice::GetChannel() const
{
	return nullptr;
}

void HostDevice::SetAddress(Address address)
{
	address_ = Mac48Address::ConvertFrom(address);
}

Address HostDevice::GetAddress() const
{
	return address_;
}

bool HostDevice::SetMtu(uint16_t mtu)
{
	mtu_bytes_ = mtu;
	return true;
}

uint16_t HostDevice::GetMtu() const
{
	return mtu_bytes_;
}

bool HostDevice::IsLinkUp() const
{
	return true;
}

void HostDevice::AddLinkChangeCallback(Callback<void> /*callback*/)
{
}

bool HostDevice::IsBroadcast() const
{
	return false;
}

Address HostDevice::GetBroadcast() const
{
	return Mac48Address::GetBroadcast();
}

bool HostDevice::IsMulticast() const
{
	return false;
}

Address HostDevice::GetMulticast(Ipv4Address group) const
{
	return Mac48Address::GetMulticast(group);
}

Address HostDevice::GetMulticast(Ipv6Address group) const
{
	return Mac48Address::GetMulticast(group);
}

bool HostDevice::IsBridge() const
{
	return false;
}

bool HostDevice::IsPointToPoint() const
{
	return true;
}

Ptr<ns3::Node> HostDevice::GetNode() const
{
	return node_;
}

void HostDevice::SetNode(Ptr<ns3::Node> node)
{
	node_ = node;
}

bool HostDevice::NeedsArp() const
{
	return false;
}

void HostDevice::SetReceiveCallback(ReceiveCallback callback)
{
	receive_ = callback;
}

void HostDevice::SetPromiscReceiveCallback(PromiscReceiveCallback /*callback*/)
{
}

bool HostDevice::SupportsSendFrom() const
{
	return true;
}

namespace
{

Address address_v4(const Host &host, bool first)
{
	const auto ipv4 = host.node->GetObject<Ipv4>();
	const Ipv4Address mine(first ? "10.0.0.1" : "10.0.0.2");
	const uint32_t interface = ipv4->AddInterface(host.device);
	ipv4->AddAddress(interface, Ipv4InterfaceAddress(mine, Ipv4Mask("255.255.255.0")));
	ipv4->SetUp(interface);
	return mine;
}

Address address_v6(const Host &host, bool first)
{
	const auto ipv6 = host.node->GetObject<Ipv6>();
	const Ipv6Address mine(first ? "fd00::1" : "fd00::2");
	const uint32_t interface = ipv6->AddInterface(host.device);
	ipv6->AddAddress(interface, Ipv6InterfaceAddress(mine, Ipv6Prefix(64)));
	ipv6->SetUp(interface);
	return mine;
}

} // namespace

Host host_make(int ip_version, uint16_t mtu_bytes, uint16_t way)
{
	// An IPv6 path carries nothing but the transfer: neither address detection nor
	// solicitations.
	Config::SetDefault("ns3::Icmpv6L4Protocol::DAD", BooleanValue(false));
	Host host;
	host.node = CreateObject<ns3::Node>();
	host.device = CreateObject<HostDevice>(ip_version, mtu_bytes, way);
	host.node->AddDevice(host.device);
	InternetStackHelper stack;
	stack.SetIpv4StackInstall(ip_version == 4);
	stack.SetIpv6StackInstall(ip_version == 6);
	stack.SetIpv4ArpJitter(false);
	stack.SetIpv6NsRsJitter(false);
	stack.SetRoutingHelper(Ipv4StaticRoutingHelper());
	stack.SetRoutingHelper(Ipv6StaticRoutingHelper());
	stack.Install(host.node);
	const bool first = sends_data(way);
	host.address = ip_version == 4 ? address_v4(host, first) : address_v6(host, first);
	return host;
}

} // namespace landspeed
