// What of a SendBuffer is sacked and lost, and which segment is sent next (RFC 6675), at a cost per
// segment that does not depend on the window; and which retransmissions are lost (RFC 8985).
// docs/ns3/01-tx-buffer.md and 12-lost-retransmissions.md.

#include "mend/send_buffer.h"

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr uint32_t DUPLICATES = 3; // DupThresh (RFC 6675 section 2)

} // namespace

bool SendBuffer::IsRetransmittedDataAcked(const SequenceNumber32 &ack)
{
	uint64_t number = board_.Find(ack);
	if (number == board_.First())
		return false;
	SentSegment &segment = board_.At(number - 1);
	return segment.start + segment.size == ack && !segment.sacked && segment.m_retrans;
}

uint32_t SendBuffer::Update(const TcpOptionSack::SackList &list, const SegmentCallback &delivered)
{
	uint32_t newly_sacked = 0;
	for (const TcpOptionSack::SackBlock &block : list) {
		if (block.second <= HeadSequence() || block.first >= HeadSequence() + sent_bytes_)
			continue; // a duplicate's report (RFC 2883), or none of ours
		uint64_t number = board_.NextUnsacked(board_.Find(block.first));
		while (number < board_.End() &&
		       board_.At(number).start + board_.At(number).size <= block.second) {
			SentSegment &segment = board_.At(number);
			forget(segment, segment.size);
			board_.Delivered(number);
			segment.lost = false;
			segment.sacked = true;
			sacked_bytes_ += segment.size;
			newly_sacked += segment.size;
			if (!delivered.IsNull())
				delivered(&segment);
			segment.m_retrans = false; // it has left the network (RFC 6675, SetPipe)
			board_.sack_end = std::max(board_.sack_end, number + 1);
			number = board_.NextUnsacked(number + 1);
		}
	}
	find_losses();
	return newly_sacked;
}

void SendBuffer::lose(SentSegment &segment)
{
	board_.losses += !segment.lost;
	lost_bytes_ += segment.lost ? 0 : segment.size;
	segment.lost = true;
}

// RFC 6675, IsLost: a segment is lost if above it DupThresh discontiguous sequences, or more than
// DupThresh - 1 segments' bytes, are sacked. That holds for every unsacked segment below a point
// which only moves up.
void SendBuffer::find_losses()
{
	for (uint64_t number; (number = board_.FindLostAgain()) != board_.End();) {
		SentSegment &segment = board_.At(number);
		segment.m_retrans = false;
		again_bytes_ -= segment.size;
		board_.losses += segment.lost; // once more
		lose(segment);
	}
	for (uint64_t late = board_.NextUnsacked(board_.lost_end);
	     late < board_.sack_end && board_.IsOverdue(late);
	     late = board_.NextUnsacked(late + 1)) {
		lose(board_.At(late));
		board_.lost_end = late + 1;
	}
	uint64_t point = board_.sack_end;
	uint64_t bytes = 0;
	uint32_t sequences = 0;
	bool in_sequence = false;
	while (bytes <= uint64_t{DUPLICATES - 1} * segment_bytes_ && sequences < DUPLICATES) {
		if (point <= std::max(board_.lost_end, board_.First()))
			return;
		const SentSegment &segment = board_.At(--point);
		sequences += segment.sacked && !in_sequence;
		bytes += segment.sacked ? segment.size : 0;
		in_sequence = segment.sacked;
	}
	for (uint64_t number = board_.NextUnsacked(board_.lost_end); number < point;
	     number = board_.NextUnsacked(number + 1))
		lose(board_.At(number));
	board_.lost_end = point;
}

bool SendBuffer::IsLost(const SequenceNumber32 &seq)
{
	uint64_t after = board_.Find(seq + 1);
	return after > board_.First() && board_.At(after - 1).lost;
}

// RFC 6675 section 4, NextSeg, rules 1 to 3. Rule 4, the rescue retransmission, is a MAY that the
// socket does not know.
bool SendBuffer::NextSeg(SequenceNumber32 *seq, SequenceNumber32 *end, bool recovers)
{
	auto take = [&](uint64_t number) {
		*seq = board_.At(number).start;
		*end = *seq + board_.At(number).size;
		return true;
	};
	// Rule 1: the first lost segment that has not been sent again since it was.
	uint64_t number = board_.NextUnsacked(board_.retransmit);
	while (number < board_.lost_end && board_.At(number).m_retrans)
		number = board_.NextUnsacked(number + 1);
	board_.retransmit = number;
	while (!board_.lost_again.empty() && board_.At(*board_.lost_again.begin()).sacked)
		board_.lost_again.erase(board_.lost_again.begin());
	if (!board_.lost_again.empty())
		number = std::min(number, *board_.lost_again.begin());
	if (number < board_.lost_end || board_.lost_again.count(number) > 0)
		return take(number);
	// Rule 2: new data, if the receiver's window takes a whole segment of it (RFC 1122
	// section 4.2.3.4), or, with nothing under way that could open the window, what it takes.
	uint32_t unsent = bytes_ - sent_bytes_;
	uint32_t window = receive_window_();
	uint32_t room = window > sent_bytes_ ? window - sent_bytes_ : 0;
	uint32_t size = std::min(unsent, segment_bytes_);
	if (room < size)
		size = sent_bytes_ == 0 ? room : 0;
	if (size > 0) {
		*seq = HeadSequence() + sent_bytes_;
		*end = *seq + size;
		return true;
	}
	// Rule 3: any segment below the highest SACK that has not been sent again.
	if (recovers) {
		number = board_.NextUnsacked(board_.lost_end);
		while (number < board_.sack_end && board_.At(number).m_retrans)
			number = board_.NextUnsacked(number + 1);
		if (number < board_.sack_end)
			return take(number);
	}
	return false;
}

void SendBuffer::SetSentListLost()
{
	for (uint64_t number = board_.First(); number < board_.End(); ++number) {
		SentSegment &segment = board_.At(number);
		segment.lost = !segment.sacked;
		segment.m_retrans = false;
	}
	board_.ForgetRetransmissions();
	again_bytes_ = 0;
	lost_bytes_ = sent_bytes_ - sacked_bytes_;
	board_.lost_end = board_.End();
	board_.retransmit = board_.First();
}

void SendBuffer::MarkHeadAsLost()
{
	if (board_.sent.empty())
		return;
	SentSegment &head = board_.sent.front();
	forget(head, head.size);
	head.sacked = false;
	head.m_retrans = false;
	head.lost = true;
	lost_bytes_ += head.size;
	board_.lost_end = std::max(board_.lost_end, board_.First() + 1);
	board_.retransmit = board_.First();
}

} // namespace landspeed
