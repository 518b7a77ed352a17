#include "mend/westwood.h"

#include "mend/least_window.h"

#include <ns3/simulator.h>
#include <ns3/tcp-socket-state.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr uint64_t LEAST_SPAN_MS = 50; // a rate is measured over a round trip, and so long at least
constexpr uint64_t OLD_SHARES = 7;     // of eight: what a filter keeps of the rate before
constexpr uint64_t NS_IN_MS = 1'000'000;

uint64_t filtered(uint64_t before, uint64_t now)
{
	return (OLD_SHARES * before + now) / (OLD_SHARES + 1);
}

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Westwood);

// Called once for each acknowledgment, also for one that only has SACK blocks. In Linux's order:
// the span ends before what is acknowledged now, by the round trip of the acknowledgment before.
void Westwood::PktsAcked(Ptr<TcpSocketState> tcb, uint32_t, const Time &rtt)
{
	const auto now_ms = static_cast<uint64_t>(Simulator::Now().GetNanoSeconds()) / NS_IN_MS;
	if (last_rtt_ms_ == 0)
		span_from_ms_ = now_ms;
	else if (now_ms - span_from_ms_ > std::max(last_rtt_ms_, LEAST_SPAN_MS))
		end_span(now_ms);
	delivered_bytes_ += tcb->m_lastAckedSackedBytes;
	if (!rtt.IsStrictlyPositive())
		return;
	last_rtt_ms_ = (static_cast<uint64_t>(rtt.GetNanoSeconds()) + NS_IN_MS - 1) / NS_IN_MS;
	least_rtt_ms_ = least_rtt_ms_ ? std::min(least_rtt_ms_, last_rtt_ms_) : last_rtt_ms_;
}

/// The first span fills the filter.
void Westwood::end_span(uint64_t now_ms)
{
	const uint64_t measured = delivered_bytes_ / (now_ms - span_from_ms_);
	const bool first = rate_once_ == 0 && rate_ == 0;
	rate_once_ = first ? measured : filtered(rate_once_, measured);
	rate_ = first ? measured : filtered(rate_, rate_once_);
	delivered_bytes_ = 0;
	span_from_ms_ = now_ms;
}

uint32_t Westwood::delivered_in_a_round_trip(uint32_t segment_bytes) const
{
	const uint64_t segments = rate_ * least_rtt_ms_ / segment_bytes;
	return std::max(static_cast<uint32_t>(segments), LEAST_SEGMENTS) * segment_bytes;
}

uint32_t Westwood::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
	return std::max(tcb->GetCwndInSegments() / 2, LEAST_SEGMENTS) * tcb->m_segmentSize;
}

// What was delivered is threshold and window when a recovery has ended; after a mark the socket has
// taken the old threshold as its window by then. After a timeout the shortest round trip is looked
// for anew: the route may have changed.
void Westwood::CwndEvent(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCAEvent_t event)
{
	const bool lost = event == TcpSocketState::CA_EVENT_LOSS;
	if (lost || event == TcpSocketState::CA_EVENT_COMPLETE_CWR)
		tcb->m_ssThresh = delivered_in_a_round_trip(tcb->m_segmentSize);
	if (event == TcpSocketState::CA_EVENT_COMPLETE_CWR)
		tcb->m_cWnd = tcb->m_cWndInfl = tcb->m_ssThresh.Get();
	if (lost)
		least_rtt_ms_ = 0;
}

} // namespace landspeed
