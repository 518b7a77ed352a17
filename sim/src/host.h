// The end of a flow: ns-3's IP and TCP on a network device that hands packets to the network and
// takes them from it. Each flow has two of its own, also where several begin or end at one host:
// what they share of it is its lanes.
#pragma once

#include "frame.h"

#include <functional>
#include <ns3/mac48-address.h>
#include <ns3/net-device.h>
#include <ns3/node.h>
#include <vector>

namespace landspeed
{

class StreamSocket;

/// It has no queue and no rate of its own: those are the first lane of its way.
///
/// No frame header is put on and no address is resolved: each end has one neighbour, and framing is
/// counted, not built.
class HostDevice : public ns3::NetDevice, public Hop
{
public:
	/// `way`: of all that it sends.
	HostDevice(int ip_version, uint16_t mtu_bytes, uint16_t way);

	/// Where what the host sends goes.
	void set_way_out(Hop &next)
	{
		next_ = &next;
	}
	/// An echo to the other end, which sends it back; `number` comes with it.
	void send_echo(uint32_t bytes, uint64_t number);
	/// Called with its number when it is back.
	std::function<void(uint64_t number)> echoed;
	/// A datagram to the other end; its number and the time now come with it.
	void send_datagram(uint32_t bytes, uint64_t number);
	/// Called with both when it has come.
	std::function<void(uint64_t number, int64_t sent_ns)> datagram_came;
	/// From now on nothing is sent and nothing taken.
	void shut()
	{
		shut_ = true;
	}
	void take(Frame frame) override;

	/// From now on every connection is established, and nothing but their segments is sent:
	/// they are carried from socket to socket past ns-3's IP, of which nothing is left but the
	/// size of its header. `sockets[i]` is the end of stream i here; `port_of_first` the
	/// sending port of stream 0.
	void start_carrying(std::vector<StreamSocket *> sockets, uint16_t port_of_first);
	void carry(const ns3::Ptr<ns3::Packet> &payload, const ns3::TcpHeader &header);
	[[nodiscard]] uint64_t corrupted() const
	{
		return corrupted_;
	}

	// ns3::NetDevice
	void SetIfIndex(uint32_t index) override;
	uint32_t GetIfIndex() const override;
	ns3::Ptr<ns3::Channel> GetChannel() const override;
	void SetAddress(ns3::Address address) override;
	ns3::Address GetAddress() const override;
	bool SetMtu(uint16_t mtu) override;
	uint16_t GetMtu() const override;
	bool IsLinkUp() const override;
	void AddLinkChangeCallback(ns3::Callback<void> callback) override;
	bool IsBroadcast() const override;
	ns3::Address GetBroadcast() const override;
	bool IsMulticast() const override;
	ns3::Address GetMulticast(ns3::Ipv4Address group) const override;
	ns3::Address GetMulticast(ns3::Ipv6Address group) const override;
	bool IsBridge() const override;
	bool IsPointToPoint() const override;
	bool Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address &dest,
		  uint16_t protocol) override;
	bool SendFrom(ns3::Ptr<ns3::Packet> packet, const ns3::Address &source,
		      const ns3::Address &dest, uint16_t protocol) override;
	ns3::Ptr<ns3::Node> GetNode() const override;
	void SetNode(ns3::Ptr<ns3::Node> node) override;
	bool NeedsArp() const override;
	void SetReceiveCallback(ReceiveCallback callback) override;
	void SetPromiscReceiveCallback(PromiscReceiveCallback callback) override;
	bool SupportsSendFrom() const override;

private:
	void take_echo(Frame frame);

	uint16_t mtu_bytes_;
	uint16_t protocol_; ///< EtherType of IPv4 or IPv6: all that ever comes
	uint32_t index_ = 0;
	ns3::Mac48Address address_ = ns3::Mac48Address::Allocate();
	Hop *next_ = nullptr;
	bool shut_ = false;
	ns3::Ptr<ns3::Node> node_;
	ReceiveCallback receive_;
	uint64_t corrupted_ = 0;
	uint32_t ip_header_bytes_;
	uint16_t way_;
	std::vector<StreamSocket *> sockets_;
	Arrivals arrivals_;
	uint16_t port_of_first_ = 0;
};

/// An IP stack and one device, made for IPv4 or IPv6.
struct Host {
	ns3::Ptr<ns3::Node> node;
	ns3::Ptr<HostDevice> device;
	ns3::Address address; ///< Ipv4Address or Ipv6Address
};

Host host_make(int ip_version, uint16_t mtu_bytes, uint16_t way);

} // namespace landspeed
