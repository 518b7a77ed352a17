// The round trips of a connection, as controls that look at delay see them (Linux's tcp_vegas.c).
#pragma once

#include <ns3/nstime.h>
#include <ns3/sequence-number.h>
#include <ns3/tcp-socket-state.h>

#include <algorithm>
#include <cstdint>

namespace landspeed
{

class Rounds
{
public:
	void Saw(const ns3::Time &rtt)
	{
		if (!rtt.IsStrictlyPositive())
			return;
		shortest_ = std::min(shortest_, rtt);
		shortest_of_round_ = std::min(shortest_of_round_, rtt);
		++samples_;
	}

	// A round trip ends when what was sent after its beginning is acknowledged.
	void Begin(const ns3::TcpSocketState &tcb)
	{
		end_ = tcb.m_nextTxSequence.Get();
		shortest_of_round_ = ns3::Time::Max();
		samples_ = 0;
	}

	bool Ended(const ns3::TcpSocketState &tcb) const
	{
		return tcb.m_lastAckedSeq > end_;
	}

	// Three, so that one of them was not of a delayed acknowledgment.
	bool Enough() const
	{
		return samples_ > 2;
	}

	ns3::Time Shortest() const
	{
		return shortest_;
	}

	ns3::Time Queueing() const
	{
		return shortest_of_round_ - shortest_;
	}

	ns3::Time ShortestOfRound() const
	{
		return shortest_of_round_;
	}

private:
	ns3::Time shortest_ = ns3::Time::Max();
	ns3::Time shortest_of_round_ = ns3::Time::Max();
	uint32_t samples_ = 0;
	ns3::SequenceNumber32 end_{0};
};

} // namespace landspeed
