// ns3::TcpTxBuffer, written anew: the sender's scoreboard of RFC 6675 at a cost per segment that
// does not depend on the window. The library's class walks its list of sent segments for every
// segment it sends and for every SACK block; at 41 000 segments in flight that is nearly all of the
// simulation's time. docs/ns3/01-tx-buffer.md.
//
// Its methods are not virtual and the socket makes its buffer itself, so a subclass cannot replace
// them. What is defined here takes precedence over the shared library's (ELF symbol resolution: the
// executable comes first). The library uses only the class's interface; what the header has no
// member for is kept in a table beside it.

#include "mend/side_table.h"

#include <ns3/packet.h>
#include <ns3/simulator.h>
#include <ns3/tcp-tx-buffer.h>

#include <algorithm>
#include <deque>

namespace
{

using ns3::SequenceNumber32;
using ns3::TcpTxBuffer;
using ns3::TcpTxItem;

struct Segment {
	TcpTxItem *item;
	SequenceNumber32 start;
	uint32_t size;
	uint64_t skip; // if sacked: there is no unsacked segment from this one up to the one
		       // numbered `skip`
};

// What was sent and not yet discarded. Segments are numbered in the order of their bytes; a number
// stays valid when segments before it are discarded.
class Scoreboard
{
public:
	std::deque<Segment> sent;
	uint64_t first = 0;      // number of sent.front()
	uint64_t lost_end = 0;   // every unsacked segment before it is marked lost
	uint64_t retransmit = 0; // no segment before it waits to be retransmitted
	uint64_t sack_end =
	    0; // the one after the highest sacked; not above `first`: none is sacked

	uint64_t End() const
	{
		return first + sent.size();
	}

	Segment &At(uint64_t number)
	{
		return sent[number - first];
	}

	// The first segment that begins at `seq` or after it.
	uint64_t Find(SequenceNumber32 seq) const
	{
		auto before = [](const Segment &segment, SequenceNumber32 value) {
			return segment.start < value;
		};
		auto found = std::lower_bound(sent.begin(), sent.end(), seq, before);
		return first + static_cast<uint64_t>(found - sent.begin());
	}

	// The first unsacked segment from `number` on. Runs of sacked ones are remembered, so that
	// all the calls together cost about one step for each segment.
	uint64_t NextUnsacked(uint64_t number)
	{
		number = std::max(number, first);
		uint64_t found = number;
		while (found < End() && At(found).item->IsSacked())
			found = std::max(found + 1, At(found).skip);
		while (number < found) {
			uint64_t next = std::max(number + 1, At(number).skip);
			At(number).skip = found;
			number = next;
		}
		return found;
	}

	void DropFront()
	{
		sent.pop_front();
		++first;
	}

	// After segments were renumbered or unsacked.
	void ForgetSkips()
	{
		for (Segment &segment : sent)
			segment.skip = 0;
	}
};

landspeed::SideTable<TcpTxBuffer, Scoreboard> &Boards()
{
	static auto *boards =
	    new landspeed::SideTable<TcpTxBuffer, Scoreboard>; // outlives every socket
	return *boards;
}

} // namespace

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TcpTxBuffer);

Callback<void, TcpTxItem *> TcpTxBuffer::m_nullCb = MakeNullCallback<void, TcpTxItem *>();

TypeId TcpTxBuffer::GetTypeId()
{
	static TypeId id =
	    TypeId("ns3::TcpTxBuffer")
		.SetParent<Object>()
		.SetGroupName("Internet")
		.AddConstructor<TcpTxBuffer>()
		.AddTraceSource("UnackSequence", "SND.UNA",
				MakeTraceSourceAccessor(&TcpTxBuffer::m_firstByteSeq),
				"ns3::SequenceNumber32TracedValueCallback");
	return id;
}

TcpTxBuffer::TcpTxBuffer(uint32_t n) : m_maxBuffer(0), m_size(0), m_sentSize(0), m_firstByteSeq(n)
{
}

TcpTxBuffer::~TcpTxBuffer()
{
	for (Segment &segment : Boards().Of(this).sent)
		delete segment.item;
	for (TcpTxItem *item : m_appList)
		delete item;
	Boards().Drop(this);
}

SequenceNumber32 TcpTxBuffer::HeadSequence() const
{
	return m_firstByteSeq;
}

SequenceNumber32 TcpTxBuffer::TailSequence() const
{
	return m_firstByteSeq.Get() + m_size;
}

uint32_t TcpTxBuffer::Size() const
{
	return m_size;
}

uint32_t TcpTxBuffer::MaxBufferSize() const
{
	return m_maxBuffer;
}

void TcpTxBuffer::SetMaxBufferSize(uint32_t n)
{
	m_maxBuffer =
	    std::min<uint32_t>(n, INT32_MAX); // sequence numbers compare within half their range
}

bool TcpTxBuffer::IsSackEnabled() const
{
	return m_sackEnabled;
}

void TcpTxBuffer::SetSackEnabled(bool enabled)
{
	m_sackEnabled = enabled;
}

uint32_t TcpTxBuffer::Available() const
{
	return m_maxBuffer > m_size ? m_maxBuffer - m_size : 0;
}

void TcpTxBuffer::SetDupAckThresh(uint32_t dupAckThresh)
{
	m_dupAckThresh = dupAckThresh;
}

void TcpTxBuffer::SetSegmentSize(uint32_t segmentSize)
{
	m_segmentSize = segmentSize;
}

void TcpTxBuffer::SetRWndCallback(Callback<uint32_t> rWndCallback)
{
	m_rWndCallback = rWndCallback;
}

uint32_t TcpTxBuffer::GetRetransmitsCount() const
{
	return m_retrans;
}

uint32_t TcpTxBuffer::GetLost() const
{
	return m_lostOut;
}

uint32_t TcpTxBuffer::GetSacked() const
{
	return m_sackedOut;
}

void TcpTxBuffer::SetHeadSequence(const SequenceNumber32 &seq)
{
	NS_ABORT_MSG_UNLESS(Boards().Of(this).sent.empty(),
			    "the first sequence number changes after data was sent");
	m_firstByteSeq = seq;
}

uint32_t TcpTxBuffer::SizeFromSequence(const SequenceNumber32 &seq) const
{
	int32_t left = TailSequence() - seq;
	return left > 0 ? static_cast<uint32_t>(left) : 0;
}

bool TcpTxBuffer::Add(Ptr<Packet> p)
{
	if (p->GetSize() > Available())
		return false;
	if (p->GetSize() > 0) {
		auto *item = new TcpTxItem;
		item->m_packet = p->Copy();
		m_appList.push_back(item);
		m_size += p->GetSize();
	}
	return true;
}

TcpTxItem *TcpTxBuffer::CopyFromSequence(uint32_t numBytes, const SequenceNumber32 &seq)
{
	NS_ABORT_MSG_IF(seq < m_firstByteSeq.Get(), "asked for bytes that were acknowledged");
	uint32_t size = std::min(numBytes, SizeFromSequence(seq));
	if (size == 0)
		return nullptr;
	SequenceNumber32 unsent = m_firstByteSeq.Get() + m_sentSize;
	NS_ABORT_MSG_IF(seq > unsent, "asked for new bytes behind others that were not sent");
	TcpTxItem *item = seq < unsent ? GetTransmittedSegment(size, seq) : GetNewSegment(size);
	item->m_lastSent = Simulator::Now();
	return item;
}

// The next `numBytes` of what the application wrote, as one segment.
TcpTxItem *TcpTxBuffer::GetNewSegment(uint32_t numBytes)
{
	TcpTxItem *item = m_appList.front();
	m_appList.pop_front();
	while (item->m_packet->GetSize() < numBytes && !m_appList.empty()) {
		TcpTxItem *next = m_appList.front();
		m_appList.pop_front();
		item->m_packet->AddAtEnd(next->m_packet);
		delete next;
	}
	if (item->m_packet->GetSize() > numBytes) {
		auto *rest = new TcpTxItem;
		rest->m_packet =
		    item->m_packet->CreateFragment(numBytes, item->m_packet->GetSize() - numBytes);
		item->m_packet = item->m_packet->CreateFragment(0, numBytes);
		m_appList.push_front(rest);
	}
	item->m_startSeq = m_firstByteSeq.Get() + m_sentSize;
	uint32_t size = item->m_packet->GetSize();
	Boards().Of(this).sent.push_back({item, item->m_startSeq, size, 0});
	m_sentSize += size;
	return item;
}

// Cuts a segment in two; `first` gets the first `size` bytes, `rest` is the one that is there.
void TcpTxBuffer::SplitItems(TcpTxItem *first, TcpTxItem *rest, uint32_t size) const
{
	Ptr<Packet> whole = rest->m_packet;
	*first = *rest;
	first->m_packet = whole->CreateFragment(0, size);
	rest->m_packet = whole->CreateFragment(size, whole->GetSize() - size);
	rest->m_startSeq += size;
}

// A segment is sent again as it was sent, or cut if less is asked for; it is never joined with its
// neighbour.
TcpTxItem *TcpTxBuffer::GetTransmittedSegment(uint32_t numBytes, const SequenceNumber32 &seq)
{
	Scoreboard &board = Boards().Of(this);
	auto cut = [&](uint64_t number, uint32_t size) {
		Segment &rest = board.At(number);
		auto *item = new TcpTxItem;
		SplitItems(item, rest.item, size);
		Segment front{item, rest.start, size, 0};
		rest.start += size;
		rest.size -= size;
		board.sent.insert(board.sent.begin() + static_cast<ptrdiff_t>(number - board.first),
				  front);
		for (uint64_t *mark : {&board.lost_end, &board.retransmit, &board.sack_end})
			*mark += *mark > number;
		board.ForgetSkips();
	};
	uint64_t number = board.Find(seq);
	if (number == board.End() || board.At(number).start > seq) {
		--number;
		cut(number, static_cast<uint32_t>(seq - board.At(number).start));
		++number;
	}
	if (board.At(number).size > numBytes)
		cut(number, numBytes);
	TcpTxItem *item = board.At(number).item;
	if (!item->m_retrans) {
		item->m_retrans = true;
		m_retrans += board.At(number).size;
	}
	return item;
}

bool TcpTxBuffer::IsRetransmittedDataAcked(const SequenceNumber32 &ack) const
{
	Scoreboard &board = Boards().Of(this);
	uint64_t number = board.Find(ack);
	if (number == board.first)
		return false;
	Segment &segment = board.At(number - 1);
	return segment.start + segment.size == ack && !segment.item->m_sacked &&
	       segment.item->m_retrans;
}

void TcpTxBuffer::RemoveFromCounts(TcpTxItem *item, uint32_t size)
{
	m_sackedOut -= item->m_sacked ? size : 0;
	m_lostOut -= item->m_lost ? size : 0;
	m_retrans -= item->m_retrans ? size : 0;
}

void TcpTxBuffer::DiscardUpTo(const SequenceNumber32 &seq,
			      const Callback<void, TcpTxItem *> &beforeDelCb)
{
	if (seq <= m_firstByteSeq.Get())
		return;
	Scoreboard &board = Boards().Of(this);
	auto left = static_cast<uint32_t>(seq - m_firstByteSeq.Get());
	while (left > 0 && m_size > 0) {
		if (board.sent.empty())
			GetNewSegment(
			    left); // acknowledged without being sent as a segment: a window probe
		Segment &head = board.sent.front();
		uint32_t size = std::min(left, head.size);
		RemoveFromCounts(head.item, size);
		m_size -= size;
		m_sentSize -= size;
		m_firstByteSeq += size;
		left -= size;
		if (size < head.size) {
			head.item->m_packet =
			    head.item->m_packet->CreateFragment(size, head.size - size);
			head.item->m_startSeq += size;
			head.start += size;
			head.size -= size;
			break;
		}
		if (!beforeDelCb.IsNull())
			beforeDelCb(head.item);
		delete head.item;
		board.DropFront();
	}
	if (m_size == 0)
		m_firstByteSeq = seq; // a FIN counts as one more
	if (!board.sent.empty() && board.sent.front().item->m_sacked) {
		// With SACK: the receiver dropped what it had reported (RFC 2018 section 8).
		// Without: the guess which segments caused duplicate acknowledgments was wrong, and
		// another one takes its place.
		MarkHeadAsLost();
		if (!m_sackEnabled)
			AddRenoSack();
	}
}

uint32_t TcpTxBuffer::Update(const TcpOptionSack::SackList &list,
			     const Callback<void, TcpTxItem *> &sackedCb)
{
	Scoreboard &board = Boards().Of(this);
	uint32_t newly_sacked = 0;
	bool above_lost = false;
	for (const TcpOptionSack::SackBlock &block : list) {
		if (block.second <= m_firstByteSeq.Get() ||
		    block.first >= m_firstByteSeq.Get() + m_sentSize)
			continue; // a duplicate's report (RFC 2883), or none of ours
		uint64_t number = board.NextUnsacked(board.Find(block.first));
		while (number < board.End() &&
		       board.At(number).start + board.At(number).size <= block.second) {
			TcpTxItem *item = board.At(number).item;
			uint32_t size = board.At(number).size;
			m_lostOut -= item->m_lost ? size : 0;
			m_retrans -= item->m_retrans ? size : 0;
			item->m_lost = false;
			item->m_sacked = true;
			m_sackedOut += size;
			newly_sacked += size;
			if (!sackedCb.IsNull())
				sackedCb(item);
			item->m_retrans = false; // it has left the network (RFC 6675, SetPipe)
			above_lost |= number >= board.lost_end;
			board.sack_end = std::max(board.sack_end, number + 1);
			number = board.NextUnsacked(number + 1);
		}
	}
	if (above_lost)
		UpdateLostCount();
	return newly_sacked;
}

// RFC 6675, IsLost: a segment is lost if above it DupThresh discontiguous sequences, or more than
// DupThresh - 1 segments' bytes, are sacked. That holds for every unsacked segment below a point
// which only moves up.
void TcpTxBuffer::UpdateLostCount()
{
	Scoreboard &board = Boards().Of(this);
	uint64_t point = board.sack_end;
	uint64_t bytes = 0;
	uint32_t sequences = 0;
	bool in_sequence = false;
	while (bytes <= uint64_t{m_dupAckThresh - 1} * m_segmentSize &&
	       sequences < m_dupAckThresh) {
		if (point <= std::max(board.lost_end, board.first))
			return;
		const Segment &segment = board.At(--point);
		sequences += segment.item->m_sacked && !in_sequence;
		bytes += segment.item->m_sacked ? segment.size : 0;
		in_sequence = segment.item->m_sacked;
	}
	uint64_t number = board.NextUnsacked(board.lost_end);
	while (number < point) {
		Segment &segment = board.At(number);
		m_lostOut += segment.item->m_lost ? 0 : segment.size;
		segment.item->m_lost = true;
		number = board.NextUnsacked(number + 1);
	}
	board.lost_end = point;
}

bool TcpTxBuffer::IsLost(const SequenceNumber32 &seq) const
{
	Scoreboard &board = Boards().Of(this);
	uint64_t after = board.Find(seq + 1);
	return after > board.first && board.At(after - 1).item->m_lost;
}

// RFC 6675 section 4, NextSeg, rules 1 to 3. Rule 4, the rescue retransmission, is a MAY that the
// socket does not know.
bool TcpTxBuffer::NextSeg(SequenceNumber32 *seq, SequenceNumber32 *seqHigh, bool isRecovery) const
{
	Scoreboard &board = Boards().Of(this);
	auto take = [&](uint64_t number) {
		*seq = board.At(number).start;
		*seqHigh = *seq + board.At(number).size;
		return true;
	};
	// Rule 1: the first lost segment that has not been sent again.
	uint64_t number = board.NextUnsacked(board.retransmit);
	while (number < board.lost_end && board.At(number).item->m_retrans)
		number = board.NextUnsacked(number + 1);
	board.retransmit = number;
	if (number < board.lost_end)
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
		while (number < board.sack_end && board.At(number).item->m_retrans)
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
	Scoreboard &board = Boards().Of(this);
	for (Segment &segment : board.sent) {
		segment.item->m_sacked &= !resetSack;
		segment.item->m_lost = !segment.item->m_sacked;
		segment.item->m_retrans = false;
	}
	if (resetSack) {
		m_sackedOut = 0;
		board.sack_end = 0;
		board.ForgetSkips();
	}
	m_retrans = 0;
	m_lostOut = m_sentSize - m_sackedOut;
	board.lost_end = board.End();
	board.retransmit = board.first;
}

bool TcpTxBuffer::IsHeadRetransmitted() const
{
	Scoreboard &board = Boards().Of(this);
	return !board.sent.empty() && board.sent.front().item->m_retrans;
}

void TcpTxBuffer::DeleteRetransmittedFlagFromHead()
{
	Scoreboard &board = Boards().Of(this);
	if (!IsHeadRetransmitted())
		return;
	board.sent.front().item->m_retrans = false;
	m_retrans -= board.sent.front().size;
	board.retransmit = board.first;
}

void TcpTxBuffer::MarkHeadAsLost()
{
	Scoreboard &board = Boards().Of(this);
	if (board.sent.empty())
		return;
	Segment &head = board.sent.front();
	RemoveFromCounts(head.item, head.size);
	head.item->m_sacked = false;
	head.item->m_retrans = false;
	head.item->m_lost = true;
	m_lostOut += head.size;
	board.lost_end = std::max(board.lost_end, board.first + 1);
	board.retransmit = board.first;
}

// Back to what was never sent.
void TcpTxBuffer::ResetSentList()
{
	Scoreboard &board = Boards().Of(this);
	for (; !board.sent.empty(); board.sent.pop_back()) {
		TcpTxItem *item = board.sent.back().item;
		item->m_retrans = item->m_sacked = item->m_lost = false;
		m_appList.push_front(item);
	}
	board = Scoreboard{};
	m_sentSize = m_lostOut = m_retrans = m_sackedOut = 0;
}

void TcpTxBuffer::ResetLastSegmentSent()
{
	Scoreboard &board = Boards().Of(this);
	if (board.sent.empty())
		return;
	Segment last = board.sent.back();
	RemoveFromCounts(last.item, last.size);
	last.item->m_retrans = last.item->m_sacked = last.item->m_lost = false;
	m_sentSize -= last.size;
	board.sent.pop_back();
	for (uint64_t *mark : {&board.lost_end, &board.retransmit, &board.sack_end})
		*mark = std::min(*mark, board.End());
	board.ForgetSkips();
	m_appList.push_front(last.item);
}

// Without SACK, a duplicate acknowledgment stands for one segment after the head (RFC 6582).
void TcpTxBuffer::AddRenoSack()
{
	Scoreboard &board = Boards().Of(this);
	m_renoSack = true;
	uint64_t number = board.NextUnsacked(board.first + 1);
	if (number >= board.End())
		return;
	Segment &segment = board.At(number);
	RemoveFromCounts(segment.item, segment.size);
	segment.item->m_lost = segment.item->m_retrans = false;
	segment.item->m_sacked = true;
	m_sackedOut += segment.size;
	board.sack_end = std::max(board.sack_end, number + 1);
}

void TcpTxBuffer::ResetRenoSack()
{
	Scoreboard &board = Boards().Of(this);
	for (Segment &segment : board.sent)
		segment.item->m_sacked = false;
	m_sackedOut = 0;
	board.sack_end = 0;
	board.ForgetSkips();
	board.lost_end = board.first + (!board.sent.empty() && board.sent.front().item->m_lost);
}

std::ostream &operator<<(std::ostream &os, const TcpTxItem &item)
{
	item.Print(os);
	return os;
}

std::ostream &operator<<(std::ostream &os, const TcpTxBuffer &tcpTxBuf)
{
	return os << "from " << tcpTxBuf.HeadSequence() << " to " << tcpTxBuf.TailSequence()
		  << ", in flight " << tcpTxBuf.BytesInFlight() << ", lost " << tcpTxBuf.GetLost()
		  << ", sacked " << tcpTxBuf.GetSacked();
}

} // namespace ns3
