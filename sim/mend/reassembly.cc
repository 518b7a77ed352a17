#include "mend/reassembly.h"

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr size_t REPORTED_BLOCKS = 4; // what fits into a TCP header (RFC 2018 section 3)

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Reassembly);

TypeId Reassembly::GetTypeId()
{
	static TypeId id =
	    TypeId("landspeed::Reassembly").SetParent<TcpRxBuffer>().AddConstructor<Reassembly>();
	return id;
}

bool Reassembly::Add(Ptr<Packet> packet, const TcpHeader &header)
{
	const SequenceNumber32 begin = header.GetSequenceNumber();
	SequenceNumber32 end = std::min(begin + packet->GetSize(), MaxRxSequence());
	SequenceNumber32 head = std::max(begin, NextRxSequence());
	// What is here already stays; the new segment fills the first gap that it reaches.
	auto next = segments_.lower_bound(head);
	if (next != segments_.begin()) {
		auto previous = std::prev(next);
		head = std::max(head, previous->first + previous->second->GetSize());
	}
	while (next != segments_.end() && next->first <= head && head < end) {
		head = std::max(head, next->first + next->second->GetSize());
		++next;
	}
	if (next != segments_.end())
		end = std::min(end, next->first);
	if (head >= end)
		return false;

	const auto size = static_cast<uint32_t>(end - head);
	if (size < packet->GetSize())
		packet = packet->CreateFragment(static_cast<uint32_t>(head - begin), size);
	segments_.emplace_hint(next, head, packet);
	stored_bytes_ += size;
	arrived(head, end);
	return true;
}

// [first, last) has arrived. It joins the blocks that it touches; if it is the next expected, that
// moves to the end of its block, otherwise that block is the first one to be reported.
void Reassembly::arrived(SequenceNumber32 first, SequenceNumber32 last)
{
	auto after = blocks_.lower_bound(first);
	if (after != blocks_.begin() && std::prev(after)->second == first) {
		--after;
		first = after->first;
		after = blocks_.erase(after);
	}
	if (after != blocks_.end() && after->first == last) {
		last = after->second;
		after = blocks_.erase(after);
	}
	if (first == NextRxSequence()) {
		advance(last);
		return;
	}
	blocks_.emplace_hint(after, first, last);
	reported_.remove_if([&](const TcpOptionSack::SackBlock &block) {
		return block.first >= first && block.second <= last;
	});
	reported_.emplace_front(first, last);
	if (reported_.size() > REPORTED_BLOCKS)
		reported_.pop_back();
}

void Reassembly::advance(const SequenceNumber32 &next)
{
	const auto more_bytes = static_cast<uint32_t>(next - NextRxSequence());
	const bool ends = GotFin() && next == MaxRxSequence();
	readable_bytes_ += more_bytes;
	SetMaxBufferSize(MaxBufferSize() - more_bytes);
	SetNextRxSequence(next);
	if (ends)
		IncNextRxSequence();
	reported_.remove_if(
	    [&](const TcpOptionSack::SackBlock &block) { return block.second <= next; });
}

Ptr<Packet> Reassembly::Extract(uint32_t most_bytes)
{
	uint32_t size = std::min(most_bytes, readable_bytes_);
	if (size == 0)
		return nullptr;
	const auto head = segments_.begin();
	const SequenceNumber32 start = head->first;
	Ptr<Packet> packet = head->second;
	const uint32_t whole = packet->GetSize();
	size = std::min(size, whole);
	const auto next = segments_.erase(head);
	if (size < whole) {
		segments_.emplace_hint(next, start + size,
				       packet->CreateFragment(size, whole - size));
		packet = packet->CreateFragment(0, size);
	}
	stored_bytes_ -= size;
	readable_bytes_ -= size;
	SetMaxBufferSize(MaxBufferSize() + size);
	return packet;
}

} // namespace landspeed
