#include "mend/send_buffer.h"

#include <ns3/simulator.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

NS_OBJECT_ENSURE_REGISTERED(SendBuffer);

TypeId SendBuffer::GetTypeId()
{
	static TypeId id =
	    TypeId("landspeed::SendBuffer").SetParent<TcpTxBuffer>().AddConstructor<SendBuffer>();
	return id;
}

uint32_t SendBuffer::Available() const
{
	// Sequence numbers compare within half their range.
	const uint32_t most = std::min<uint32_t>(MaxBufferSize(), INT32_MAX);
	return most > bytes_ ? most - bytes_ : 0;
}

SequenceNumber32 SendBuffer::TailSequence() const
{
	return HeadSequence() + bytes_;
}

uint32_t SendBuffer::SizeFromSequence(const SequenceNumber32 &seq) const
{
	const int32_t left = TailSequence() - seq;
	return left > 0 ? static_cast<uint32_t>(left) : 0;
}

uint32_t SendBuffer::BytesInFlight() const
{
	return sent_bytes_ - sacked_bytes_ - lost_bytes_ + again_bytes_;
}

bool SendBuffer::Add(const Ptr<Packet> &packet)
{
	if (packet->GetSize() > Available())
		return false;
	if (packet->GetSize() > 0) {
		board_.written.push_back({packet->Copy(), TailSequence()});
		bytes_ += packet->GetSize();
	}
	return true;
}

void SendBuffer::Begin()
{
	if (board_.written.empty() || !board_.sent.empty())
		return;
	const int32_t shift = HeadSequence() - board_.written.front().start;
	for (Written &each : board_.written)
		each.start += shift;
}

SentSegment *SendBuffer::CopyFromSequence(uint32_t most_bytes, const SequenceNumber32 &seq)
{
	NS_ABORT_MSG_IF(seq < HeadSequence(), "asked for bytes that were acknowledged");
	const uint32_t size = std::min(most_bytes, SizeFromSequence(seq));
	if (size == 0)
		return nullptr;
	const SequenceNumber32 unsent = HeadSequence() + sent_bytes_;
	NS_ABORT_MSG_IF(seq > unsent, "asked for new bytes behind others that were not sent");
	uint64_t number = 0;
	if (seq < unsent) {
		number = sent_again(size, seq);
	} else {
		new_segment(size);
		number = board_.End() - 1;
	}
	board_.At(number).last_sent = Simulator::Now();
	board_.Transmitted(number);
	return &board_.At(number);
}

Ptr<Packet> SendBuffer::Bytes(const SentSegment &segment) const
{
	return board_.Cut(segment.start, segment.size);
}

// The next bytes of what the application wrote, as one segment.
SentSegment &SendBuffer::new_segment(uint32_t most_bytes)
{
	board_.sent.push({});
	SentSegment &segment = board_.sent.back();
	segment.start = HeadSequence() + sent_bytes_;
	segment.size = std::min(most_bytes, bytes_ - sent_bytes_);
	sent_bytes_ += segment.size;
	return segment;
}

// A segment is sent again as it was sent, or cut if less is asked for; it is never joined with its
// neighbour.
uint64_t SendBuffer::sent_again(uint32_t most_bytes, const SequenceNumber32 &seq)
{
	auto cut = [&](uint64_t number, uint32_t size) {
		SentSegment &rest = board_.At(number);
		SentSegment front = rest;
		front.size = size;
		rest.start += size;
		rest.size -= size;
		board_.Insert(number, front);
	};
	uint64_t number = board_.Find(seq);
	if (number == board_.End() || board_.At(number).start > seq) {
		--number;
		cut(number, static_cast<uint32_t>(seq - board_.At(number).start));
		++number;
	}
	if (board_.At(number).size > most_bytes)
		cut(number, most_bytes);
	SentSegment &segment = board_.At(number);
	again_bytes_ += segment.m_retrans ? 0 : segment.size;
	segment.m_retrans = true;
	return number;
}

void SendBuffer::forget(const SentSegment &segment, uint32_t bytes)
{
	sacked_bytes_ -= segment.sacked ? bytes : 0;
	lost_bytes_ -= segment.lost ? bytes : 0;
	again_bytes_ -= segment.m_retrans ? bytes : 0;
}

void SendBuffer::DiscardUpTo(const SequenceNumber32 &seq, const SegmentCallback &delivered)
{
	if (seq <= HeadSequence())
		return;
	auto left = static_cast<uint32_t>(seq - HeadSequence());
	while (left > 0 && bytes_ > 0) {
		if (board_.sent.empty())
			new_segment(left); // acknowledged without being sent: a window probe
		SentSegment &head = board_.sent.front();
		const uint32_t size = std::min(left, head.size);
		if (size == head.size && !head.sacked)
			board_.Delivered(board_.First());
		forget(head, size);
		bytes_ -= size;
		sent_bytes_ -= size;
		SetHeadSequence(HeadSequence() + size);
		left -= size;
		if (size < head.size) {
			head.start += size;
			head.size -= size;
			break;
		}
		if (!delivered.IsNull())
			delivered(&head);
		board_.DropFront();
	}
	while (!board_.written.empty() &&
	       board_.written.front().start + board_.written.front().packet->GetSize() <=
		   HeadSequence())
		board_.written.pop_front();
	if (bytes_ == 0)
		SetHeadSequence(seq); // a FIN counts as one more
	find_losses();
	// The receiver dropped what it had reported (RFC 2018 section 8).
	if (!board_.sent.empty() && board_.sent.front().sacked)
		MarkHeadAsLost();
}

void SendBuffer::ResetLastSegmentSent()
{
	if (board_.sent.empty())
		return;
	const SentSegment &last = board_.sent.back();
	forget(last, last.size);
	sent_bytes_ -= last.size;
	board_.sent.pop_back();
	board_.lost_again.erase(board_.End());
	for (uint64_t *mark : {&board_.lost_end, &board_.retransmit, &board_.sack_end})
		*mark = std::min(*mark, board_.End());
	board_.ForgetSkips();
}

} // namespace landspeed
