#include "carried.h"

#include "host.h"

#include <ns3/node.h>
#include <ns3/tcp-l4-protocol.h>

// The way out of ns3::TcpL4Protocol, defined here instead of in the library, so that a segment of
// an established connection can leave without the IP stack (HostDevice::carry). All others go
// through it, as in the library.
void ns3::TcpL4Protocol::SendPacket(Ptr<Packet> pkt, const TcpHeader &outgoing,
				    const Address &saddr, const Address &daddr,
				    Ptr<NetDevice> oif) const
{
	if (auto *host = landspeed::HostDevice::carrying(m_node); host != nullptr)
		host->carry(pkt, outgoing);
	else if (Ipv4Address::IsMatchingType(saddr))
		SendPacketV4(pkt, outgoing, Ipv4Address::ConvertFrom(saddr),
			     Ipv4Address::ConvertFrom(daddr), oif);
	else
		SendPacketV6(pkt, outgoing, Ipv6Address::ConvertFrom(saddr),
			     Ipv6Address::ConvertFrom(daddr), oif);
}
