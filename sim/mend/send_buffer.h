#pragma once

#include "mend/scoreboard.h"

#include <ns3/tcp-option-sack.h>
#include <ns3/tcp-tx-buffer.h>

namespace landspeed
{

// What the application wrote and the network has not acknowledged, in segments. Sending and
// acknowledging cost per segment what does not depend on the window; ns-3's class walks its list of
// sent segments for each, which at 41 000 segments in flight is nearly all of the simulation's
// time. docs/ns3/01-tx-buffer.md.
//
// The bytes are here. ns3::TcpTxBuffer, which ns-3's socket looks at, is only their edge: where
// what is not acknowledged begins, and how much may be held. It is empty, so that the library's
// socket has nothing to send; sender.cc sends. SACK is taken for granted.
class SendBuffer : public ns3::TcpTxBuffer
{
public:
	using SegmentCallback = ns3::Callback<void, ns3::TcpTxItem *>;

	static ns3::TypeId GetTypeId();

	explicit SendBuffer(uint32_t first = 0) : TcpTxBuffer(first)
	{
	}

	void SetSegmentSize(uint32_t bytes)
	{
		segment_bytes_ = bytes;
	}
	void SetRWndCallback(const ns3::Callback<uint32_t> &receive_window)
	{
		receive_window_ = receive_window;
	}

	uint32_t Available() const; // bytes of room
	ns3::SequenceNumber32 TailSequence() const;
	uint32_t SizeFromSequence(const ns3::SequenceNumber32 &seq) const;
	uint32_t BytesInFlight() const;
	uint32_t Size() const // bytes written and not acknowledged
	{
		return bytes_;
	}
	uint32_t GetLost() const
	{
		return lost_bytes_;
	}
	uint32_t GetSacked() const
	{
		return sacked_bytes_;
	}
	uint32_t GetRetransmitsCount() const
	{
		return again_bytes_;
	}
	uint64_t Losses() const // since the beginning, lost retransmissions counted again
	{
		return board_.losses;
	}

	// False: it has no room.
	bool Add(const ns3::Ptr<ns3::Packet> &packet);

	// The handshake has set where the data begins: what was written before is renumbered.
	void Begin();

	// The next segment to send, of at most `most_bytes` from `seq` on; as it was sent, or cut,
	// if it was sent before. Null: there is none. Its bytes are those of Bytes().
	SentSegment *CopyFromSequence(uint32_t most_bytes, const ns3::SequenceNumber32 &seq);
	ns3::Ptr<ns3::Packet> Bytes(const SentSegment &segment) const;
	void ResetLastSegmentSent(); // it does not count as sent

	// What is acknowledged, and what is sacked: `delivered` is called for each segment that
	// arrives whole. Update returns the bytes that are newly sacked.
	void DiscardUpTo(const ns3::SequenceNumber32 &seq, const SegmentCallback &delivered = {});
	uint32_t Update(const ns3::TcpOptionSack::SackList &list,
			const SegmentCallback &delivered = {});

	// losses.cc
	bool NextSeg(ns3::SequenceNumber32 *seq, ns3::SequenceNumber32 *end, bool recovers);
	bool IsLost(const ns3::SequenceNumber32 &seq);
	bool IsRetransmittedDataAcked(const ns3::SequenceNumber32 &ack);
	void MarkHeadAsLost();
	void SetSentListLost(); // all of it but what is sacked: after a timeout

private:
	SentSegment &new_segment(uint32_t most_bytes);
	uint64_t sent_again(uint32_t most_bytes, const ns3::SequenceNumber32 &seq);
	void forget(const SentSegment &segment, uint32_t bytes);
	void lose(SentSegment &segment);
	void find_losses();

	Scoreboard board_;
	ns3::Callback<uint32_t> receive_window_;
	uint32_t segment_bytes_ = 0;
	// Written and not acknowledged; sent of it; and of that:
	uint32_t bytes_ = 0, sent_bytes_ = 0;
	uint32_t lost_bytes_ = 0, sacked_bytes_ = 0, again_bytes_ = 0;
};

} // namespace landspeed
