// TCP segments between two hosts without the IP stack's work.
#pragma once

#include <cstdint>
#include <ns3/packet.h>
#include <ns3/simple-ref-count.h>
#include <ns3/tcp-header.h>
#include <ns3/tcp-option-ts.h>

namespace landspeed
{

/// A segment on its way: what its packet and header say, which are made anew where it arrives.
///
/// A hundred thousand are under way. As ns-3 makes them, packet, header and options are five pieces
/// of memory, which no cache holds until they arrive; this lies in the path's queues themselves.
/// The bytes carried are counted, not kept: streams are of zeros.
class CarriedSegment
{
public:
	CarriedSegment() = default; ///< no segment
	CarriedSegment(const ns3::Packet &payload, const ns3::TcpHeader &header);

	explicit operator bool() const
	{
		return kind_ != Kind::none;
	}
	[[nodiscard]] uint16_t source_port() const
	{
		return source_port_;
	}
	[[nodiscard]] uint16_t destination_port() const
	{
		return destination_port_;
	}

private:
	friend class Arrivals;

	enum class Kind : uint8_t {
		none,
		plain, ///< its options are timestamps, or there are none
		whole, ///< other options too: the header is kept as it is
	};

	struct Header : ns3::SimpleRefCount<Header> {
		explicit Header(const ns3::TcpHeader &given) : tcp(given)
		{
		}
		ns3::TcpHeader tcp;
	};

	ns3::Ptr<const Header> header_;
	uint32_t payload_bytes_ = 0;
	uint32_t sequence_ = 0, acknowledgment_ = 0;
	uint32_t timestamp_ = 0, echo_ = 0;
	uint16_t source_port_ = 0, destination_port_ = 0;
	uint16_t window_ = 0, urgent_ = 0;
	uint8_t flags_ = 0;
	bool has_timestamps_ = false;
	Kind kind_ = Kind::none;
};

/// Where segments arrive: makes their packets and headers, of the same memory again and again.
class Arrivals
{
public:
	/// Valid until the next.
	const ns3::TcpHeader &header(const CarriedSegment &segment);
	ns3::Ptr<ns3::Packet> payload(const CarriedSegment &segment);

private:
	ns3::TcpHeader bare_, stamped_;
	ns3::Ptr<ns3::TcpOptionTS> timestamps_; ///< of `stamped_`
	ns3::Ptr<ns3::Packet> payload_;
};

} // namespace landspeed
