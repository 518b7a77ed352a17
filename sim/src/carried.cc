#include "carried.h"

namespace landspeed
{

using namespace ns3;

CarriedSegment::CarriedSegment(const Packet &payload, const TcpHeader &header)
    : payload_bytes_(payload.GetSize()), sequence_(header.GetSequenceNumber().GetValue()),
      acknowledgment_(header.GetAckNumber().GetValue()), source_port_(header.GetSourcePort()),
      destination_port_(header.GetDestinationPort()), window_(header.GetWindowSize()),
      urgent_(header.GetUrgentPointer()), flags_(header.GetFlags()), kind_(Kind::plain)
{
	for (const auto &option : header.GetOptionList()) {
		if (const auto *stamps = dynamic_cast<const TcpOptionTS *>(PeekPointer(option))) {
			has_timestamps_ = true;
			timestamp_ = stamps->GetTimestamp();
			echo_ = stamps->GetEcho();
		} else {
			kind_ = Kind::whole;
		}
	}
	if (kind_ == Kind::whole)
		header_ = Create<const Header>(header);
}

const TcpHeader &Arrivals::header(const CarriedSegment &segment)
{
	if (segment.kind_ == CarriedSegment::Kind::whole)
		return segment.header_->tcp;
	TcpHeader &header = segment.has_timestamps_ ? stamped_ : bare_;
	if (segment.has_timestamps_) {
		if (!timestamps_) {
			timestamps_ = CreateObject<TcpOptionTS>();
			stamped_.AppendOption(timestamps_);
		}
		timestamps_->SetTimestamp(segment.timestamp_);
		timestamps_->SetEcho(segment.echo_);
	}
	header.SetSourcePort(segment.source_port_);
	header.SetDestinationPort(segment.destination_port_);
	header.SetSequenceNumber(SequenceNumber32(segment.sequence_));
	header.SetAckNumber(SequenceNumber32(segment.acknowledgment_));
	header.SetFlags(segment.flags_);
	header.SetWindowSize(segment.window_);
	header.SetUrgentPointer(segment.urgent_);
	return header;
}

Ptr<Packet> Arrivals::payload(const CarriedSegment &segment)
{
	// The one before, if it was read and nobody has kept it.
	if (!payload_ || payload_->GetReferenceCount() > 1 ||
	    payload_->GetSize() != segment.payload_bytes_)
		payload_ = Create<Packet>(segment.payload_bytes_);
	return payload_;
}

} // namespace landspeed
