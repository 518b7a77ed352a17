// What the sender has sent and not yet discarded, in the order of its bytes (send_buffer.h).
#pragma once

#include "mend/ring.h"

#include <ns3/nstime.h>
#include <ns3/packet.h>
#include <ns3/tcp-tx-item.h>

#include <cstdint>
#include <deque>
#include <set>

namespace landspeed
{

// One after the other in memory, and no packet of its own: at 80 000 in flight the time to fetch
// what was put away a round trip ago is what a segment costs.
// Of ns-3's item the rate's part is used, and whether it is sent again (m_retrans).
struct SentSegment : ns3::TcpTxItem {
	ns3::SequenceNumber32 start;
	uint32_t size = 0;
	bool sacked = false, lost = false;
	ns3::Time last_sent = ns3::Time::Max();
	uint64_t transmission = 0; // the number of its last one; they are counted from 1
	uint64_t skip = 0;  // if sacked: there is no unsacked segment from this one up to the one
			    // numbered `skip`
	bool again = false; // sent more than once
};

// What the application wrote at once.
struct Written {
	ns3::Ptr<ns3::Packet> packet;
	ns3::SequenceNumber32 start;
};

// Segments are numbered in the order of their bytes; a number stays valid when segments before it
// are discarded.
class Scoreboard
{
public:
	std::deque<Written> written; // and is not all acknowledged; what is sent is cut from it
	Ring<SentSegment> sent;
	uint64_t lost_end = 0;   // every unsacked segment before it is marked lost
	uint64_t retransmit = 0; // no segment before it waits for its first retransmission
	uint64_t sack_end =
	    0;               // the one after the highest sacked; not above First(): none is sacked
	uint64_t losses = 0; // marked since the beginning, lost retransmissions counted again
	std::set<uint64_t> lost_again; // segments whose retransmission is lost (FindLostAgain)

	uint64_t First() const
	{
		return sent.head();
	}

	uint64_t End() const
	{
		return sent.tail();
	}

	bool Has(uint64_t number) const
	{
		return number >= First() && number < End();
	}

	SentSegment &At(uint64_t number)
	{
		return sent.at(number);
	}

	// The bytes from `seq` on, which were written.
	ns3::Ptr<ns3::Packet> Cut(const ns3::SequenceNumber32 &seq, uint32_t size) const;

	// The first segment that begins at `seq` or after it.
	uint64_t Find(const ns3::SequenceNumber32 &seq);

	// The first unsacked segment from `number` on. Runs of sacked ones are remembered, so that
	// all the calls together cost about one step for each segment.
	uint64_t NextUnsacked(uint64_t number);

	void DropFront();

	// A segment is now two: `front`, and what is left under the number after it.
	void Insert(uint64_t number, const SentSegment &front);

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
	bool IsLate(const SentSegment &segment) const; // by more than the reordering window

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

} // namespace landspeed
