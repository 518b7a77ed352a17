#include "mend/scoreboard.h"

#include <ns3/simulator.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

Ptr<Packet> Scoreboard::Cut(const SequenceNumber32 &seq, uint32_t size) const
{
	auto after = [](const SequenceNumber32 &value, const Written &each) {
		return value < each.start;
	};
	auto from = std::prev(std::upper_bound(written.begin(), written.end(), seq, after));
	auto skipped = static_cast<uint32_t>(seq - from->start);
	uint32_t there = std::min(size, from->packet->GetSize() - skipped);
	Ptr<Packet> cut = from->packet->CreateFragment(skipped, there);
	for (uint32_t left = size - there; left > 0; left -= there) {
		++from;
		there = std::min(left, from->packet->GetSize());
		cut->AddAtEnd(from->packet->CreateFragment(0, there));
	}
	return cut;
}

uint64_t Scoreboard::Find(const SequenceNumber32 &seq)
{
	uint64_t from = First();
	uint64_t to = End();
	while (from < to) {
		uint64_t middle = from + (to - from) / 2;
		if (At(middle).start < seq)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

uint64_t Scoreboard::NextUnsacked(uint64_t number)
{
	number = std::max(number, First());
	uint64_t found = number;
	while (found < End() && At(found).sacked)
		found = std::max(found + 1, At(found).skip);
	while (number < found) {
		uint64_t next = std::max(number + 1, At(number).skip);
		At(number).skip = found;
		number = next;
	}
	return found;
}

void Scoreboard::DropFront()
{
	lost_again.erase(First());
	sent.pop();
}

void Scoreboard::Insert(uint64_t number, const SentSegment &front)
{
	sent.insert(number, front);
	for (uint64_t *mark : {&lost_end, &retransmit, &sack_end, &delivered_end_})
		*mark += *mark > number;
	for (Transmission &each : retransmissions_)
		each.segment += each.segment >= number;
	std::set<uint64_t> moved;
	for (uint64_t each : lost_again)
		moved.insert(each + (each >= number));
	lost_again = std::move(moved);
	ForgetSkips();
}

void Scoreboard::ForgetSkips()
{
	for (uint64_t number = First(); number < End(); ++number)
		At(number).skip = 0;
}

void Scoreboard::Transmitted(uint64_t number)
{
	SentSegment &segment = At(number);
	segment.transmission = ++transmissions_;
	if (!segment.m_retrans)
		return;
	segment.again = true;
	lost_again.erase(number);
	retransmissions_.push_back({number, segment.transmission});
}

// RFC 8985 section 6.2, steps 1 to 3.
void Scoreboard::Delivered(uint64_t number)
{
	const SentSegment &segment = At(number);
	Time round_trip = Simulator::Now() - segment.last_sent;
	if (segment.again) {
		// Much sooner than any: what has arrived was sent before. Not to the nanosecond: an
		// acknowledgment that is not delayed comes a packet's time sooner.
		if (round_trip < least_round_trip_ - least_round_trip_ / 8)
			return;
	} else {
		least_round_trip_ = std::min(least_round_trip_, round_trip);
		reordered_ |= number + 1 < delivered_end_;
	}
	delivered_end_ = std::max(delivered_end_, number + 1);
	if (segment.transmission > newest_delivered_) {
		newest_delivered_ = segment.transmission;
		newest_round_trip_ = round_trip;
	}
}

// Steps 4 and 5. The reordering window is a quarter of the shortest round trip; duplicate SACKs,
// which would widen it, are not sent by ns-3.
bool Scoreboard::IsLate(const SentSegment &segment) const
{
	return Simulator::Now() >= segment.last_sent + newest_round_trip_ + least_round_trip_ / 4;
}

bool Scoreboard::IsOverdue(uint64_t number)
{
	const SentSegment &segment = At(number);
	return segment.transmission < newest_delivered_ && least_round_trip_.IsStrictlyPositive() &&
	       IsLate(segment);
}

// In recovery there is no window until packets were seen to overtake each other.
uint64_t Scoreboard::FindLostAgain()
{
	for (; !retransmissions_.empty(); retransmissions_.pop_front()) {
		auto [number, transmission] = retransmissions_.front();
		if (!Has(number) || At(number).transmission != transmission)
			continue;
		if (At(number).sacked || !At(number).m_retrans)
			continue;
		if (transmission >= newest_delivered_)
			break;
		if (reordered_ && !IsLate(At(number)))
			break;
		retransmissions_.pop_front();
		lost_again.insert(number);
		return number;
	}
	return End();
}

void Scoreboard::ForgetRetransmissions()
{
	retransmissions_.clear();
	lost_again.clear();
}

} // namespace landspeed
