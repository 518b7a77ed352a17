#include "mend/illinois.h"

#include "mend/least_window.h"

#include <ns3/tcp-socket-state.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr double LEAST_ALPHA = 0.3, RENO_ALPHA = 1, MOST_ALPHA = 10; // segments in a round trip
constexpr double LEAST_BETA = 0.125, MOST_BETA = 0.5;                // what a loss takes off
constexpr uint32_t SMALL_WINDOW_SEGMENTS = 15;                       // which is Reno's
constexpr uint32_t SHORT_ROUNDS = 5; // theta: so many before alpha is at its largest again
constexpr double SHORT_QUEUE = 0.01, SMALL_QUEUE = 0.1, LARGE_QUEUE = 0.8; // of the longest

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Illinois);

Illinois::Illinois() : alpha_(MOST_ALPHA), beta_(MOST_BETA)
{
}

void Illinois::PktsAcked(Ptr<TcpSocketState>, uint32_t, const Time &rtt)
{
	if (!rtt.IsStrictlyPositive())
		return;
	shortest_ = std::min(shortest_, rtt);
	longest_ = std::max(longest_, rtt);
	sum_ += rtt;
	++samples_;
}

void Illinois::begin_round(const TcpSocketState &tcb)
{
	round_end_ = tcb.m_nextTxSequence.Get();
	sum_ = Time();
	samples_ = 0;
}

void Illinois::CongestionStateSet(Ptr<TcpSocketState> tcb,
				  const TcpSocketState::TcpCongState_t newState)
{
	if (newState != TcpSocketState::CA_LOSS)
		return;
	alpha_ = RENO_ALPHA;
	beta_ = MOST_BETA;
	was_long_ = false;
	short_rounds_ = 0;
	begin_round(*tcb);
}

void Illinois::IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	if (tcb->m_lastAckedSeq > round_end_) {
		judge_round(*tcb);
		begin_round(*tcb);
	}
	TcpNewReno::IncreaseWindow(tcb, segmentsAcked);
}

void Illinois::judge_round(const TcpSocketState &tcb)
{
	if (tcb.GetCwndInSegments() < SMALL_WINDOW_SEGMENTS) {
		alpha_ = RENO_ALPHA;
		beta_ = MOST_BETA;
	} else if (samples_ > 0) {
		const double queueing_s = (sum_ / samples_ - shortest_).GetSeconds();
		const double most_s = (longest_ - shortest_).GetSeconds();
		update_alpha(queueing_s, most_s);
		update_beta(queueing_s, most_s);
	}
}

void Illinois::update_alpha(double queueing_s, double most_s)
{
	const double short_s = SHORT_QUEUE * most_s;
	if (queueing_s > short_s) {
		was_long_ = true;
		const double within_s = most_s - short_s, above_s = queueing_s - short_s;
		alpha_ = within_s * MOST_ALPHA /
			 (within_s + above_s * (MOST_ALPHA - LEAST_ALPHA) / LEAST_ALPHA);
	} else if (!was_long_) {
		alpha_ = MOST_ALPHA;
	} else if (++short_rounds_ >= SHORT_ROUNDS) {
		short_rounds_ = 0;
		was_long_ = false;
		alpha_ = MOST_ALPHA;
	}
}

void Illinois::update_beta(double queueing_s, double most_s)
{
	const double small_s = SMALL_QUEUE * most_s, large_s = LARGE_QUEUE * most_s;
	if (queueing_s <= small_s)
		beta_ = LEAST_BETA;
	else if (queueing_s >= large_s)
		beta_ = MOST_BETA;
	else
		beta_ = LEAST_BETA +
			(MOST_BETA - LEAST_BETA) * (queueing_s - small_s) / (large_s - small_s);
}

void Illinois::CongestionAvoidance(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	acknowledged_segments_ += segmentsAcked;
	const uint32_t window = std::max(tcb->GetCwndInSegments(), 1U);
	const auto due = static_cast<uint32_t>(acknowledged_segments_ * alpha_);
	if (due < window)
		return;
	tcb->m_cWnd += due / window * tcb->m_segmentSize;
	acknowledged_segments_ = 0;
}

// Of the window, not of what is in flight, from which all that was found lost is gone.
uint32_t Illinois::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
	const uint32_t window = tcb->GetCwndInSegments();
	const auto taken = static_cast<uint32_t>(window * beta_);
	return std::max(window - taken, LEAST_SEGMENTS) * tcb->m_segmentSize;
}

} // namespace landspeed
