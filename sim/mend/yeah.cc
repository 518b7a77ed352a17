#include "mend/yeah.h"

#include "mend/least_window.h"

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr uint32_t MOST_QUEUED_SEGMENTS = 80; // alpha, Q_max of the paper
constexpr int64_t RTT_SHARE = 8;              // phi: a queue of so much of a round trip is long
constexpr uint32_t LOSS_SHARE = 8;            // 2^delta: what a loss takes off at least
constexpr uint32_t SLOW_ROUNDS = 16;          // rho: after so many a loss halves the window
constexpr uint32_t FAST_ROUNDS = 50;          // zeta: after so many there is no Reno beside it
constexpr uint32_t SCALABLE_SEGMENTS_FOR_ONE = 100;

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Yeah);

void Yeah::PktsAcked(Ptr<TcpSocketState>, uint32_t, const Time &rtt)
{
	rounds_.Saw(rtt);
}

// What was measured in a recovery says nothing of the window after it.
void Yeah::CongestionStateSet(Ptr<TcpSocketState> tcb,
			      const TcpSocketState::TcpCongState_t newState)
{
	if (newState == TcpSocketState::CA_OPEN)
		rounds_.Begin(*tcb);
}

void Yeah::IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	TcpNewReno::IncreaseWindow(tcb, segmentsAcked);
	if (!rounds_.Ended(*tcb))
		return;
	if (rounds_.Enough())
		judge_round(*tcb);
	rounds_.Begin(*tcb);
}

void Yeah::CongestionAvoidance(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	const uint32_t window = tcb->GetCwndInSegments();
	const uint32_t for_one =
	    slow_rounds_ > 0 ? window : std::min(window, SCALABLE_SEGMENTS_FOR_ONE);
	acknowledged_segments_ += segmentsAcked;
	tcb->m_cWnd += acknowledged_segments_ / for_one * tcb->m_segmentSize;
	acknowledged_segments_ %= for_one;
}

void Yeah::judge_round(TcpSocketState &tcb)
{
	const Time queueing = rounds_.Queueing();
	const double waiting = queueing.GetSeconds() / rounds_.ShortestOfRound().GetSeconds();
	queue_segments_ = static_cast<uint32_t>(tcb.GetCwndInSegments() * waiting);
	if (queue_segments_ > MOST_QUEUED_SEGMENTS || queueing > rounds_.Shortest() / RTT_SHARE) {
		if (queue_segments_ > MOST_QUEUED_SEGMENTS)
			shorten_queue(tcb);
		reno_segments_ = reno_segments_ <= LEAST_SEGMENTS
				     ? std::max(tcb.GetCwndInSegments() / 2, LEAST_SEGMENTS)
				     : reno_segments_ + 1;
		++slow_rounds_;
		return;
	}
	slow_rounds_ = 0;
	if (++fast_rounds_ > FAST_ROUNDS) {
		reno_segments_ = LEAST_SEGMENTS;
		fast_rounds_ = 0;
	}
}

/// By what waits there, and by half of the window at most; not below what a Reno would have.
void Yeah::shorten_queue(TcpSocketState &tcb)
{
	const uint32_t window = tcb.GetCwndInSegments();
	if (window <= reno_segments_)
		return;
	const uint32_t shorter = window - std::min(queue_segments_, window / 2);
	tcb.m_cWnd = std::max(shorter, reno_segments_) * tcb.m_segmentSize;
	tcb.m_ssThresh = tcb.m_cWnd.Get();
}

// Of the window, not of what is in flight, from which all that was found lost is gone.
uint32_t Yeah::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
	const uint32_t window = tcb->GetCwndInSegments();
	const uint32_t half = std::max(window / 2, LEAST_SEGMENTS);
	const uint32_t taken = slow_rounds_ < SLOW_ROUNDS
				   ? std::max(std::min(queue_segments_, half), window / LOSS_SHARE)
				   : half;
	fast_rounds_ = 0;
	reno_segments_ = std::max(reno_segments_ / 2, LEAST_SEGMENTS);
	return std::max(window - std::min(taken, window), LEAST_SEGMENTS) * tcb->m_segmentSize;
}

} // namespace landspeed
