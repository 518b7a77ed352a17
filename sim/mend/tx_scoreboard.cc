// ns3::TcpTxBuffer's scoreboard, written anew: what is sacked, lost and in flight, and which
// segment is sent next (RFC 6675), at a cost per segment that does not depend on the window; and
// which retransmissions are lost (RFC 8985). docs/ns3/01-tx-buffer.md and
// 12-lost-retransmissions.md. Why the class is replaced and not derived from: tx_buffer.cc.

#include "mend/scoreboard.h"

#include <algorithm>

namespace ns3
{

using landspeed::Scoreboard;
using landspeed::Scoreboards;
using landspeed::SentSegment;

bool TcpTxBuffer::IsRetransmittedDataAcked(const SequenceNumber32 &ack) const
{
	Scoreboard &board = Scoreboards().Of(this);
	uint64_t number = board.Find(ack);
	if (number == board.First())
		return false;
	SentSegment &segment = board.At(number - 1);
	return segment.start + segment.size == ack && !segment.item.m_sacked &&
	       segment.item.m_retrans;
}

uint32_t TcpTxBuffer::Update(const TcpOptionSack::SackList &list,
			     const Callback<void, TcpTxItem *> &sackedCb)
{
	Scoreboard &board = Scoreboards().Of(this);
	uint32_t newly_sacked = 0;
	for (const TcpOptionSack::SackBlock &block : list) {
		if (block.second <= m_firstByteSeq.Get() ||
		    block.first >= m_firstByteSeq.Get() + m_sentSize)
			continue; // a duplicate's report (RFC 2883), or none of ours
		uint64_t number = board.NextUnsacked(board.Find(block.first));
		while (number < board.End() &&
		       board.At(number).start + board.At(number).size <= block.second) {
			TcpTxItem &item = board.At(number).item;
			uint32_t size = board.At(number).size;
			m_lostOut -= item.m_lost ? size : 0;
			m_retrans -= item.m_retrans ? size : 0;
			board.Delivered(number);
			item.m_lost = false;
			item.m_sacked = true;
			m_sackedOut += size;
			newly_sacked += size;
			if (!sackedCb.IsNull())
				sackedCb(&item);
			item.m_retrans = false; // it has left the network (RFC 6675, SetPipe)
			board.sack_end = std::max(board.sack_end, number + 1);
			number = board.NextUnsacked(number + 1);
		}
	}
	UpdateLostCount();
	return newly_sacked;
}

// RFC 6675, IsLost: a segment is lost if above it DupThresh discontiguous sequences, or more than
// DupThresh - 1 segments' bytes, are sacked. That holds for every unsacked segment below a point
// which only moves up.
void TcpTxBuffer::UpdateLostCount()
{
	Scoreboard &board = Scoreboards().Of(this);
	for (uint64_t number; (number = board.FindLostAgain()) != board.End();) {
		SentSegment &segment = board.At(number);
		segment.item.m_retrans = false;
		m_retrans -= segment.size;
		m_lostOut += segment.item.m_lost ? 0 : segment.size;
		segment.item.m_lost = true;
		++board.losses;
	}
	for (uint64_t late = board.NextUnsacked(board.lost_end);
	     late < board.sack_end && board.IsOverdue(late); late = board.NextUnsacked(late + 1)) {
		SentSegment &segment = board.At(late);
		board.losses += !segment.item.m_lost;
		m_lostOut += segment.item.m_lost ? 0 : segment.size;
		segment.item.m_lost = true;
		board.lost_end = late + 1;
	}
	uint64_t point = board.sack_end;
	uint64_t bytes = 0;
	uint32_t sequences = 0;
	bool in_sequence = false;
	while (bytes <= uint64_t{m_dupAckThresh - 1} * m_segmentSize &&
	       sequences < m_dupAckThresh) {
		if (point <= std::max(board.lost_end, board.First()))
			return;
		const SentSegment &segment = board.At(--point);
		sequences += segment.item.m_sacked && !in_sequence;
		bytes += segment.item.m_sacked ? segment.size : 0;
		in_sequence = segment.item.m_sacked;
	}
	uint64_t number = board.NextUnsacked(board.lost_end);
	while (number < point) {
		SentSegment &segment = board.At(number);
		board.losses += !segment.item.m_lost;
		m_lostOut += segment.item.m_lost ? 0 : segment.size;
		segment.item.m_lost = true;
		number = board.NextUnsacked(number + 1);
	}
	board.lost_end = point;
}

bool TcpTxBuffer::IsLost(const SequenceNumber32 &seq) const
{
	Scoreboard &board = Scoreboards().Of(this);
	uint64_t after = board.Find(seq + 1);
	return after > board.First() && board.At(after - 1).item.m_lost;
}

// RFC 6675 section 4, NextSeg, rules 1 to 3. Rule 4, the rescue retransmission, is a MAY that the
// socket does not know.
bool TcpTxBuffer::NextSeg(SequenceNumber32 *seq, SequenceNumber32 *seqHigh, bool isRecovery) const
{
	Scoreboard &board = Scoreboards().Of(this);
	auto take = [&](uint64_t number) {
		*seq = board.At(number).start;
		*seqHigh = *seq + board.At(number).size;
		return true;
	};
	// Rule 1: the first lost segment that has not been sent again since it was.
	uint64_t number = board.NextUnsacked(board.retransmit);
	while (number < board.lost_end && board.At(number).item.m_retrans)
		number = board.NextUnsacked(number + 1);
	board.retransmit = number;
	while (!board.lost_again.empty() && board.At(*board.lost_again.begin()).item.m_sacked)
		board.lost_again.erase(board.lost_again.begin());
	if (!board.lost_again.empty())
		number = std::min(number, *board.lost_again.begin());
	if (number < board.lost_end || board.lost_again.count(number) > 0)
		return take(number);
	// Rule 2: new data, if the receiver's window takes a whole segment of it (RFC 1122
	// section 4.2.3.4), or, with nothing under way that could open the window, what it takes.
	uint32_t unsent = m_size - m_sentSize;
	uint32_t window = m_rWndCallback();
	uint32_t room = window > m_sentSize ? window - m_sentSize : 0;
	uint32_t size = std::min(unsent, m_segmentSize);
	if (room < size)
		size = m_sentSize == 0 ? room : 0;
	if (size > 0) {
		*seq = m_firstByteSeq.Get() + m_sentSize;
		*seqHigh = *seq + size;
		return true;
	}
	// Rule 3: any segment below the highest SACK that has not been sent again.
	if (isRecovery) {
		number = board.NextUnsacked(board.lost_end);
		while (number < board.sack_end && board.At(number).item.m_retrans)
			number = board.NextUnsacked(number + 1);
		if (number < board.sack_end)
			return take(number);
	}
	return false;
}

uint32_t TcpTxBuffer::BytesInFlight() const
{
	return m_sentSize - m_sackedOut - m_lostOut + m_retrans;
}

void TcpTxBuffer::SetSentListLost(bool resetSack)
{
	Scoreboard &board = Scoreboards().Of(this);
	for (uint64_t number = board.First(); number < board.End(); ++number) {
		SentSegment &segment = board.At(number);
		segment.item.m_sacked &= !resetSack;
		segment.item.m_lost = !segment.item.m_sacked;
		segment.item.m_retrans = false;
	}
	if (resetSack) {
		m_sackedOut = 0;
		board.sack_end = 0;
		board.ForgetSkips();
	}
	board.ForgetRetransmissions();
	m_retrans = 0;
	m_lostOut = m_sentSize - m_sackedOut;
	board.lost_end = board.End();
	board.retransmit = board.First();
}

bool TcpTxBuffer::IsHeadRetransmitted() const
{
	Scoreboard &board = Scoreboards().Of(this);
	return !board.sent.empty() && board.sent.front().item.m_retrans;
}

void TcpTxBuffer::DeleteRetransmittedFlagFromHead()
{
	Scoreboard &board = Scoreboards().Of(this);
	if (!IsHeadRetransmitted())
		return;
	board.sent.front().item.m_retrans = false;
	m_retrans -= board.sent.front().size;
	board.retransmit = board.First();
}

void TcpTxBuffer::MarkHeadAsLost()
{
	Scoreboard &board = Scoreboards().Of(this);
	if (board.sent.empty())
		return;
	SentSegment &head = board.sent.front();
	RemoveFromCounts(&head.item, head.size);
	head.item.m_sacked = false;
	head.item.m_retrans = false;
	head.item.m_lost = true;
	m_lostOut += head.size;
	board.lost_end = std::max(board.lost_end, board.First() + 1);
	board.retransmit = board.First();
}

// Without SACK, a duplicate acknowledgment stands for one segment after the head (RFC 6582).
void TcpTxBuffer::AddRenoSack()
{
	Scoreboard &board = Scoreboards().Of(this);
	m_renoSack = true;
	uint64_t number = board.NextUnsacked(board.First() + 1);
	if (number >= board.End())
		return;
	SentSegment &segment = board.At(number);
	RemoveFromCounts(&segment.item, segment.size);
	segment.item.m_lost = segment.item.m_retrans = false;
	segment.item.m_sacked = true;
	m_sackedOut += segment.size;
	board.sack_end = std::max(board.sack_end, number + 1);
}

void TcpTxBuffer::ResetRenoSack()
{
	Scoreboard &board = Scoreboards().Of(this);
	for (uint64_t number = board.First(); number < board.End(); ++number)
		board.At(number).item.m_sacked = false;
	m_sackedOut = 0;
	board.sack_end = 0;
	board.ForgetSkips();
	board.lost_end = board.First() + (!board.sent.empty() && board.sent.front().item.m_lost);
}

} // namespace ns3
