// ns3::TcpTxBuffer, written anew: what the application wrote and the network has not acknowledged,
// in segments. Which of them are lost, and which is sent next, is in tx_scoreboard.cc. Sending and
// acknowledging cost per segment what does not depend on the window; the library's class walks its
// list of sent segments for each, which at 41 000 segments in flight is nearly all of the
// simulation's time. docs/ns3/01-tx-buffer.md.
//
// Its methods are not virtual and the socket makes its buffer itself, so a subclass cannot replace
// them. What is defined here takes precedence over the shared library's (ELF symbol resolution: the
// executable comes first). The library uses only the class's interface; what the header has no
// member for is kept in a table beside it (scoreboard.h).

#include "mend/scoreboard.h"

#include <ns3/packet.h>
#include <ns3/simulator.h>

#include <algorithm>

namespace ns3
{

using landspeed::Scoreboard;
using landspeed::Scoreboards;
using landspeed::SentSegment;
using landspeed::Written;

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
	Scoreboards().Drop(this);
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
	m_rWndCallback = std::move(rWndCallback);
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
	NS_ABORT_MSG_UNLESS(Scoreboards().Of(this).sent.empty(),
			    "the first sequence number changes after data was sent");
	for (Written &each : Scoreboards().Of(this).written)
		each.start = seq + (each.start - m_firstByteSeq.Get());
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
		Scoreboards().Of(this).written.push_back({p->Copy(), TailSequence()});
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
	Scoreboard &board = Scoreboards().Of(this);
	if (board.Has(board.handed_out)) {
		SentSegment &before = board.At(board.handed_out);
		before.item.m_packet = board.OfSize(before.size);
	}
	bool again = seq < unsent;
	TcpTxItem *item = again ? GetTransmittedSegment(size, seq) : GetNewSegment(size);
	board.handed_out = again ? board.Find(seq) : board.End() - 1;
	item->m_packet = board.Cut(seq, board.At(board.handed_out).size);
	item->m_lastSent = Simulator::Now();
	board.Transmitted(board.handed_out);
	return item;
}

// The next `numBytes` of what the application wrote, as one segment.
TcpTxItem *TcpTxBuffer::GetNewSegment(uint32_t numBytes)
{
	Scoreboard &board = Scoreboards().Of(this);
	uint32_t size = std::min(numBytes, m_size - m_sentSize);
	board.sent.push({});
	SentSegment &segment = board.sent.back();
	segment.start = m_firstByteSeq.Get() + m_sentSize;
	segment.size = size;
	segment.item.m_startSeq = segment.start;
	segment.item.m_packet = board.OfSize(size);
	m_sentSize += size;
	return &segment.item;
}

// Cuts a segment in two; `first` gets the first `size` bytes, `rest` is the one that is there.
void TcpTxBuffer::SplitItems(TcpTxItem *first, TcpTxItem *rest, uint32_t size) const
{
	Scoreboard &board = Scoreboards().Of(this);
	uint32_t whole = rest->m_packet->GetSize();
	*first = *rest;
	first->m_packet = board.OfSize(size);
	rest->m_packet = board.OfSize(whole - size);
	rest->m_startSeq += size;
}

// A segment is sent again as it was sent, or cut if less is asked for; it is never joined with its
// neighbour.
TcpTxItem *TcpTxBuffer::GetTransmittedSegment(uint32_t numBytes, const SequenceNumber32 &seq)
{
	Scoreboard &board = Scoreboards().Of(this);
	auto cut = [&](uint64_t number, uint32_t size) {
		SentSegment &rest = board.At(number);
		SentSegment front = rest;
		front.size = size;
		SplitItems(&front.item, &rest.item, size);
		rest.start += size;
		rest.size -= size;
		board.Insert(number, front);
	};
	uint64_t number = board.Find(seq);
	if (number == board.End() || board.At(number).start > seq) {
		--number;
		cut(number, static_cast<uint32_t>(seq - board.At(number).start));
		++number;
	}
	if (board.At(number).size > numBytes)
		cut(number, numBytes);
	TcpTxItem &item = board.At(number).item;
	if (!item.m_retrans) {
		item.m_retrans = true;
		m_retrans += board.At(number).size;
	}
	return &item;
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
	Scoreboard &board = Scoreboards().Of(this);
	auto left = static_cast<uint32_t>(seq - m_firstByteSeq.Get());
	while (left > 0 && m_size > 0) {
		if (board.sent.empty())
			GetNewSegment(
			    left); // acknowledged without being sent as a segment: a window probe
		SentSegment &head = board.sent.front();
		uint32_t size = std::min(left, head.size);
		if (size == head.size && !head.item.m_sacked)
			board.Delivered(board.First());
		RemoveFromCounts(&head.item, size);
		m_size -= size;
		m_sentSize -= size;
		m_firstByteSeq += size;
		left -= size;
		if (size < head.size) {
			head.item.m_packet = board.OfSize(head.size - size);
			head.item.m_startSeq += size;
			head.start += size;
			head.size -= size;
			break;
		}
		if (!beforeDelCb.IsNull())
			beforeDelCb(&head.item);
		board.DropFront();
	}
	while (!board.written.empty() &&
	       board.written.front().start + board.written.front().packet->GetSize() <=
		   m_firstByteSeq.Get())
		board.written.pop_front();
	if (m_size == 0)
		m_firstByteSeq = seq; // a FIN counts as one more
	if (m_sackEnabled)
		UpdateLostCount();
	if (!board.sent.empty() && board.sent.front().item.m_sacked) {
		// With SACK: the receiver dropped what it had reported (RFC 2018 section 8).
		// Without: the guess which segments caused duplicate acknowledgments was wrong, and
		// another one takes its place.
		MarkHeadAsLost();
		if (!m_sackEnabled)
			AddRenoSack();
	}
}

// Back to what was never sent.
void TcpTxBuffer::ResetSentList()
{
	Scoreboard &board = Scoreboards().Of(this);
	std::deque<Written> written = std::move(board.written);
	board = Scoreboard{};
	board.written = std::move(written);
	m_sentSize = m_lostOut = m_retrans = m_sackedOut = 0;
}

void TcpTxBuffer::ResetLastSegmentSent()
{
	Scoreboard &board = Scoreboards().Of(this);
	if (board.sent.empty())
		return;
	SentSegment &last = board.sent.back();
	RemoveFromCounts(&last.item, last.size);
	m_sentSize -= last.size;
	board.sent.pop_back();
	board.lost_again.erase(board.End());
	for (uint64_t *mark : {&board.lost_end, &board.retransmit, &board.sack_end})
		*mark = std::min(*mark, board.End());
	board.ForgetSkips();
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
