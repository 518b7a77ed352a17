#include "mend/htcp.h"

#include <ns3/simulator.h>
#include <ns3/tcp-socket-state.h>

#include <algorithm>
#include <cmath>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr double LOW_SPEED_S = 1;       // delta_L: so long after a loss it grows as Reno does
constexpr double LEAST_BETA = 0.5;      // what a loss leaves of the window
constexpr double MOST_BETA = 0.8;       //
constexpr double EVEN = 0.2;            // a bandwidth within this of the former one is the same
constexpr double REFERENCE_RTT_S = 0.1; // alpha is scaled to this round trip, within:
constexpr double LEAST_SCALE = 0.1;     //
constexpr double MOST_SCALE = 2;        //
constexpr double REMEMBERED = 0.95;     // of the queueing delay, at each loss
const Time LEAST_RTT_FOR_BETA = MilliSeconds(10);
const Time LARGEST_STEP_OF_RTT = MilliSeconds(20);

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Htcp);

void Htcp::PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked, const Time &rtt)
{
	const bool open = tcb->m_congState == TcpSocketState::CA_OPEN;
	if (rtt.IsStrictlyPositive()) {
		least_rtt_ = std::min(least_rtt_, rtt);
		if (open) {
			most_rtt_ = std::max(most_rtt_, least_rtt_);
			// A larger step is a change of route, not a queue.
			if (rtt > most_rtt_ && rtt <= most_rtt_ + LARGEST_STEP_OF_RTT)
				most_rtt_ = rtt;
		}
	}
	if (open || tcb->m_congState == TcpSocketState::CA_DISORDER) {
		measure_bandwidth(*tcb, segmentsAcked);
	} else {
		counted_segments_ = 0;
		counted_since_ = Simulator::Now();
	}
}

/// Each window of segments in at least a round trip is a measurement.
void Htcp::measure_bandwidth(const TcpSocketState &tcb, uint32_t segments)
{
	counted_segments_ += segments;
	const Time now = Simulator::Now(), span = now - counted_since_;
	if (static_cast<double>(counted_segments_) + std::max(alpha_, 1.0) <
		tcb.GetCwndInSegments() ||
	    least_rtt_ == Time::Max() || span < least_rtt_)
		return;
	const double measured = static_cast<double>(counted_segments_) / span.GetSeconds();
	if (now - congested_ < 4 * least_rtt_) { // just after a loss
		bandwidth_ = most_bandwidth_ = measured;
	} else {
		bandwidth_ = (3 * bandwidth_ + measured) / 4;
		most_bandwidth_ = std::max(most_bandwidth_, bandwidth_);
	}
	counted_segments_ = 0;
	counted_since_ = now;
}

void Htcp::CongestionStateSet(Ptr<TcpSocketState> tcb,
			      const TcpSocketState::TcpCongState_t newState)
{
	// After a timeout, whose end is no event.
	if (newState == TcpSocketState::CA_OPEN && tcb->m_congState == TcpSocketState::CA_LOSS)
		congested_ = Simulator::Now();
	TcpNewReno::CongestionStateSet(tcb, newState);
}

// The end of a recovery, and of a reduction after a mark, where ns-3 tells the control of no state.
void Htcp::CwndEvent(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCAEvent_t event)
{
	if (event == TcpSocketState::CA_EVENT_COMPLETE_CWR)
		congested_ = Simulator::Now();
	TcpNewReno::CwndEvent(tcb, event);
}

void Htcp::update_alpha()
{
	const double since_s = (Simulator::Now() - congested_).GetSeconds() - LOW_SPEED_S;
	double factor = since_s > 0 ? 1 + 10 * since_s + std::pow(since_s / 2, 2) : 1;
	if (least_rtt_ != Time::Max())
		factor *=
		    std::clamp(least_rtt_.GetSeconds() / REFERENCE_RTT_S, LEAST_SCALE, MOST_SCALE);
	alpha_ = 2 * (1 - beta_) * std::max(factor, 1.0);
}

void Htcp::update_beta()
{
	const bool even = std::abs(most_bandwidth_ - former_bandwidth_) < EVEN * former_bandwidth_;
	former_bandwidth_ = most_bandwidth_;
	if (!even) {
		beta_ = LEAST_BETA;
		adapts_ = false;
	} else if (adapts_ && least_rtt_ > LEAST_RTT_FOR_BETA && most_rtt_.IsStrictlyPositive()) {
		beta_ = std::clamp(least_rtt_.GetSeconds() / most_rtt_.GetSeconds(), LEAST_BETA,
				   MOST_BETA);
	} else {
		beta_ = LEAST_BETA;
		adapts_ = true;
	}
}

void Htcp::CongestionAvoidance(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	acknowledged_segments_ += segmentsAcked;
	if (acknowledged_segments_ * alpha_ < tcb->GetCwndInSegments())
		return;
	tcb->m_cWnd += tcb->m_segmentSize;
	acknowledged_segments_ = 0;
	update_alpha();
}

uint32_t Htcp::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
	update_beta();
	congested_ = Simulator::Now(); // the time counts from the end: set at the beginning, too
	update_alpha();
	if (most_rtt_ > least_rtt_)
		most_rtt_ =
		    least_rtt_ + Seconds(REMEMBERED * (most_rtt_ - least_rtt_).GetSeconds());
	const auto kept = static_cast<uint32_t>(tcb->GetCwndInSegments() * beta_);
	return std::max(kept, 2U) * tcb->m_segmentSize;
}

} // namespace landspeed
