// What the sender has sent and not yet discarded: the part of ns3::TcpTxBuffer (tx_buffer.cc,
// tx_scoreboard.cc) that its header has no member for.
#pragma once

#include "mend/side_table.h"

#include <ns3/nstime.h>
#include <ns3/tcp-tx-buffer.h>

#include <cstdint>
#include <deque>
#include <set>

namespace landspeed
{

struct Segment {
	ns3::TcpTxItem *item;
	ns3::SequenceNumber32 start;
	uint32_t size;
	uint64_t transmission = 0; // the number of its last one; they are counted from 1
	bool again = false;        // sent more than once
	uint64_t skip = 0; // if sacked: there is no unsacked segment from this one up to the one
			   // numbered `skip`
};

// Segments are numbered in the order of their bytes; a number stays valid when segments before it
// are discarded.
class Scoreboard
{
public:
	std::deque<Segment> sent;
	uint64_t first = 0;      // number of sent.front()
	uint64_t lost_end = 0;   // every unsacked segment before it is marked lost
	uint64_t retransmit = 0; // no segment before it waits for its first retransmission
	uint64_t sack_end =
	    0; // the one after the highest sacked; not above `first`: none is sacked
	std::set<uint64_t> lost_again; // segments whose retransmission is lost (FindLostAgain)

	uint64_t End() const
	{
		return first + sent.size();
	}

	bool Has(uint64_t number) const
	{
		return number >= first && number < End();
	}

	Segment &At(uint64_t number)
	{
		return sent[number - first];
	}

	// The first segment that begins at `seq` or after it.
	uint64_t Find(const ns3::SequenceNumber32 &seq) const;

	// The first unsacked segment from `number` on. Runs of sacked ones are remembered, so that
	// all the calls together cost about one step for each segment.
	uint64_t NextUnsacked(uint64_t number);

	void DropFront();

	// A segment is now two: `front`, and what is left under the number after it.
	void Insert(uint64_t number, const Segment &front);

	// After segments were renumbered or unsacked.
	void ForgetSkips();

	// A segment is sent, for the first time or again.
	void Transmitted(uint64_t number);

	// A segment has arrived: it was sacked or acknowledged, for the first time.
	void Delivered(uint64_t number);

	// RACK (RFC 8985) for retransmissions: the next one that is lost since something sent after
	// it has arrived, by more than the reordering window where packets were seen to overtake
	// each other. Its segment's number; End(): there is none.
	uint64_t FindLostAgain();

	// The same for a segment sent once. It is lost if something sent after it has arrived, by
	// more than the reordering window: RFC 6675 finds it sooner if enough is sacked above it.
	bool IsOverdue(uint64_t number);

	// Nothing is under way any more: after a timeout.
	void ForgetRetransmissions();

private:
	bool IsLate(const Segment &segment) const; // by more than the reordering window

	struct Transmission {
		uint64_t segment;
		uint64_t number;
	};

	std::deque<Transmission> retransmissions_; // that may be under way, in order
	uint64_t transmissions_ = 0;
	uint64_t newest_delivered_ = 0; // transmission; RACK.xmit_ts is when it was sent
	ns3::Time newest_round_trip_;   // its; RACK.rtt
	ns3::Time least_round_trip_ = ns3::Time::Max();
	uint64_t delivered_end_ = 0; // the one after the highest that has arrived; RACK.fack
	bool reordered_ = false;     // RACK.reordering_seen
};

SideTable<ns3::TcpTxBuffer, Scoreboard> &Scoreboards();

} // namespace landspeed
