// TCP segments between two hosts without the IP stack's work.
#pragma once

#include <ns3/simple-ref-count.h>
#include <ns3/tcp-header.h>

namespace landspeed
{

/// The TCP header of a segment that travels as it is: counted in the packet's size, not built and
/// parsed again.
struct CarriedHeader : ns3::SimpleRefCount<CarriedHeader> {
	explicit CarriedHeader(const ns3::TcpHeader &given) : tcp(given)
	{
	}
	ns3::TcpHeader tcp;
};

} // namespace landspeed
