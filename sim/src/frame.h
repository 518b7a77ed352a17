// What travels through the network, and what it travels through.
#pragma once

#include "carried.h"

#include <cstdint>
#include <ns3/packet.h>

namespace landspeed
{

/// An IP packet on its way.
struct Frame {
	ns3::Ptr<ns3::Packet> packet = nullptr; ///< headers included; null: a segment is carried
	uint32_t bytes = 0;                     ///< of the IP packet
	bool corrupt = false; ///< a bit was flipped: the host that gets it drops it
	enum class Kind : uint8_t {
		transfer,
		background, ///< it only takes room
		echo,       ///< a ping: the receiving host sends it back
		datagram,   ///< of UDP: its number and the time at which it was sent come with it
	} kind = Kind::transfer;
	uint16_t way = 0; ///< in the layout: of flow i, 2 i what it sends, 2 i + 1 the answers
	CarriedSegment segment = {};

	[[nodiscard]] Frame copy() const
	{
		return {packet ? packet->Copy() : packet, bytes, corrupt, kind, way, segment};
	}
};

/// Something that takes frames: a part of the network, or a host.
class Hop
{
public:
	Hop() = default;
	Hop(const Hop &) = delete;
	Hop &operator=(const Hop &) = delete;
	virtual ~Hop() = default;
	virtual void take(Frame frame) = 0;
};

/// One that hands frames on.
class Part : public Hop
{
public:
	/// Where all of them go; said once, before the first frame.
	virtual void lead_to(Hop &next) = 0;
};

} // namespace landspeed
