// ns3::TcpRxBuffer, written anew: out-of-order segments are put in their place without a walk over
// all that is buffered, the SACK blocks are the whole contiguous blocks of RFC 2018, and what was
// stored is handed out segment by segment. docs/ns3/02-rx-buffer.md and 06-pieces.md. Why the class
// is replaced and not derived from: tx_buffer.cc.

#include "mend/side_table.h"

#include <ns3/packet.h>
#include <ns3/tcp-rx-buffer.h>

#include <algorithm>

namespace
{

using ns3::SequenceNumber32;
using ns3::TcpRxBuffer;

// The blocks beyond RCV.NXT that have arrived: start → end. They never touch each other.
using Blocks = std::map<SequenceNumber32, SequenceNumber32>;

landspeed::SideTable<TcpRxBuffer, Blocks> &BlocksTable()
{
	static auto *table = new landspeed::SideTable<TcpRxBuffer, Blocks>; // outlives every socket
	return *table;
}

constexpr size_t REPORTED_BLOCKS = 4; // what fits into a TCP header (RFC 2018 section 3)

} // namespace

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(TcpRxBuffer);

TypeId TcpRxBuffer::GetTypeId()
{
	static TypeId id = TypeId("ns3::TcpRxBuffer")
			       .SetParent<Object>()
			       .SetGroupName("Internet")
			       .AddConstructor<TcpRxBuffer>()
			       .AddTraceSource("NextRxSequence", "RCV.NXT",
					       MakeTraceSourceAccessor(&TcpRxBuffer::m_nextRxSeq),
					       "ns3::SequenceNumber32TracedValueCallback");
	return id;
}

TcpRxBuffer::TcpRxBuffer(uint32_t n)
    : m_nextRxSeq(n), m_gotFin(false), m_size(0), m_maxBuffer(0), m_availBytes(0)
{
}

TcpRxBuffer::~TcpRxBuffer()
{
	BlocksTable().Drop(this);
}

SequenceNumber32 TcpRxBuffer::NextRxSequence() const
{
	return m_nextRxSeq;
}

void TcpRxBuffer::SetNextRxSequence(const SequenceNumber32 &s)
{
	m_nextRxSeq = s;
}

void TcpRxBuffer::IncNextRxSequence()
{
	++m_nextRxSeq;
}

uint32_t TcpRxBuffer::MaxBufferSize() const
{
	return m_maxBuffer;
}

void TcpRxBuffer::SetMaxBufferSize(uint32_t s)
{
	m_maxBuffer = s;
}

uint32_t TcpRxBuffer::Size() const
{
	return m_size;
}

uint32_t TcpRxBuffer::Available() const
{
	return m_availBytes;
}

SequenceNumber32 TcpRxBuffer::MaxRxSequence() const
{
	if (m_gotFin)
		return m_finSeq;
	return m_nextRxSeq.Get() + (m_maxBuffer > m_availBytes ? m_maxBuffer - m_availBytes : 0);
}

void TcpRxBuffer::SetFinSequence(const SequenceNumber32 &s)
{
	m_gotFin = true;
	m_finSeq = s;
	if (m_nextRxSeq.Get() == m_finSeq)
		++m_nextRxSeq;
}

bool TcpRxBuffer::Finished()
{
	return m_gotFin && m_finSeq < m_nextRxSeq.Get();
}

bool TcpRxBuffer::Add(Ptr<Packet> p, const TcpHeader &tcph)
{
	SequenceNumber32 begin = tcph.GetSequenceNumber();
	SequenceNumber32 end = std::min(begin + p->GetSize(), MaxRxSequence());
	SequenceNumber32 head = std::max(begin, m_nextRxSeq.Get());
	// What is here already stays; the new segment fills the first gap that it reaches.
	auto next = m_data.lower_bound(head);
	if (next != m_data.begin()) {
		auto previous = std::prev(next);
		head = std::max(head, previous->first + previous->second->GetSize());
	}
	while (next != m_data.end() && next->first <= head && head < end) {
		head = std::max(head, next->first + next->second->GetSize());
		++next;
	}
	if (next != m_data.end())
		end = std::min(end, next->first);
	if (head >= end)
		return false;

	auto size = static_cast<uint32_t>(end - head);
	if (size < p->GetSize())
		p = p->CreateFragment(static_cast<uint32_t>(head - begin), size);
	m_data.emplace_hint(next, head, p);
	m_size += size;
	UpdateSackList(head, end);
	return true;
}

// [head, tail) has arrived. It joins the blocks that it touches; if it is the next expected,
// RCV.NXT moves to the end of its block, otherwise that block is the first one to be reported (RFC
// 2018 section 4).
void TcpRxBuffer::UpdateSackList(const SequenceNumber32 &head, const SequenceNumber32 &tail)
{
	Blocks &blocks = BlocksTable().Of(this);
	SequenceNumber32 first = head;
	SequenceNumber32 last = tail;
	auto after = blocks.lower_bound(head);
	if (after != blocks.begin() && std::prev(after)->second == head) {
		--after;
		first = after->first;
		after = blocks.erase(after);
	}
	if (after != blocks.end() && after->first == tail) {
		last = after->second;
		after = blocks.erase(after);
	}
	if (first == m_nextRxSeq.Get()) {
		m_availBytes += static_cast<uint32_t>(last - first);
		m_nextRxSeq = last;
		ClearSackList(last);
		if (m_gotFin && last == m_finSeq)
			++m_nextRxSeq;
		return;
	}
	blocks.emplace_hint(after, first, last);
	m_sackList.remove_if([&](const TcpOptionSack::SackBlock &block) {
		return block.first >= first && block.second <= last;
	});
	m_sackList.emplace_front(first, last);
	if (m_sackList.size() > REPORTED_BLOCKS)
		m_sackList.pop_back();
}

void TcpRxBuffer::ClearSackList(const SequenceNumber32 &seq)
{
	m_sackList.remove_if(
	    [&](const TcpOptionSack::SackBlock &block) { return block.second <= seq; });
}

TcpOptionSack::SackList TcpRxBuffer::GetSackList() const
{
	return m_sackList;
}

uint32_t TcpRxBuffer::GetSackListSize() const
{
	return static_cast<uint32_t>(m_sackList.size());
}

// At most one stored segment: a reader that wants more asks again, as every reader of a stream
// must. Joining a whole window, which is what is readable when a hole is filled, would copy it.
Ptr<Packet> TcpRxBuffer::Extract(uint32_t maxSize)
{
	uint32_t size = std::min(maxSize, m_availBytes);
	if (size == 0)
		return nullptr;
	auto head = m_data.begin();
	Ptr<Packet> packet = head->second;
	SequenceNumber32 start = head->first;
	uint32_t whole = packet->GetSize();
	size = std::min(size, whole);
	auto next = m_data.erase(head);
	if (size < whole) {
		m_data.emplace_hint(next, start + size, packet->CreateFragment(size, whole - size));
		packet = packet->CreateFragment(0, size);
	}
	m_size -= size;
	m_availBytes -= size;
	return packet;
}

} // namespace ns3
