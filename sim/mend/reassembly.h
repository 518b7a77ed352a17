#pragma once

#include <ns3/packet.h>
#include <ns3/tcp-rx-buffer.h>

#include <map>

namespace landspeed
{

// What has arrived and has not been read. Out-of-order segments are put in their place without a
// walk over all that is buffered, the SACK blocks are the whole contiguous blocks of RFC 2018, and
// what was stored is handed out segment by segment. docs/ns3/02-rx-buffer.md and 06-pieces.md.
//
// The bytes are here. ns-3's buffer, which ns-3's socket looks at, is the edge of them: what comes
// next, where the FIN is, and how much more has room (MaxBufferSize: what is unread is taken off).
class Reassembly : public ns3::TcpRxBuffer
{
public:
	static ns3::TypeId GetTypeId();

	// False: nothing of it is new, or has room.
	bool Add(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader &header);

	// At most one stored segment: a reader that wants more asks again, as every reader of a
	// stream must. Joining a whole window, which is what is readable when a hole is filled,
	// would copy it.
	ns3::Ptr<ns3::Packet> Extract(uint32_t most_bytes);

	uint32_t Size() const // bytes, those beyond a hole too
	{
		return stored_bytes_;
	}
	uint32_t Available() const
	{
		return readable_bytes_;
	}

	// The blocks beyond a hole, the one that tells the news first (RFC 2018 section 4).
	const ns3::TcpOptionSack::SackList &GetSackList() const
	{
		return reported_;
	}

private:
	void arrived(ns3::SequenceNumber32 first, ns3::SequenceNumber32 last);
	void advance(const ns3::SequenceNumber32 &next);

	std::map<ns3::SequenceNumber32, ns3::Ptr<ns3::Packet>> segments_;
	// Start → end, beyond the next expected. They never touch each other.
	std::map<ns3::SequenceNumber32, ns3::SequenceNumber32> blocks_;
	ns3::TcpOptionSack::SackList reported_;
	uint32_t stored_bytes_ = 0, readable_bytes_ = 0;
};

} // namespace landspeed
