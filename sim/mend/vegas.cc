#include "mend/vegas.h"

#include "mend/least_window.h"

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr int64_t FEWEST_QUEUED = 2;        // alpha, segments
constexpr int64_t MOST_QUEUED = 4;          // beta
constexpr int64_t MOST_QUEUED_IN_START = 1; // gamma

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Vegas);

void Vegas::PktsAcked(Ptr<TcpSocketState>, uint32_t, const Time &rtt)
{
	rounds_.Saw(rtt);
}

void Vegas::CongestionStateSet(Ptr<TcpSocketState> tcb,
			       const TcpSocketState::TcpCongState_t newState)
{
	open_ = newState == TcpSocketState::CA_OPEN;
	if (open_)
		rounds_.Begin(*tcb);
}

void Vegas::IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	// What an acknowledgment brings comes one segment at a time (validation.cc): where it ended
	// a round trip of few samples, all of it counts as Reno's.
	if (!open_ || tcb->m_lastAckedSeq == few_until_) {
		NewReno::IncreaseWindow(tcb, segmentsAcked);
	} else if (rounds_.Ended(*tcb)) {
		judge_round(tcb, segmentsAcked);
		rounds_.Begin(*tcb);
	} else if (tcb->m_cWnd < tcb->m_ssThresh) {
		SlowStart(tcb, segmentsAcked);
	}
}

void Vegas::judge_round(const Ptr<TcpSocketState> &tcb, uint32_t segments_acked)
{
	if (!rounds_.Enough()) {
		few_until_ = tcb->m_lastAckedSeq;
		NewReno::IncreaseWindow(tcb, segments_acked);
		return;
	}
	const bool starting = tcb->m_cWnd < tcb->m_ssThresh;
	const int64_t window = tcb->GetCwndInSegments();
	const int64_t shortest_ns = rounds_.Shortest().GetNanoSeconds();
	const int64_t queued = window * rounds_.Queueing().GetNanoSeconds() / shortest_ns;
	int64_t next = window;
	if (starting && queued > MOST_QUEUED_IN_START) // to the rate that it has, rounded up
		next = std::min(
		    window, window * shortest_ns / rounds_.ShortestOfRound().GetNanoSeconds() + 1);
	else if (!starting && queued > MOST_QUEUED)
		next = window - 1;
	else if (!starting && queued < FEWEST_QUEUED)
		next = window + 1;
	if (next != window)
		tcb->m_cWnd =
		    std::max(static_cast<uint32_t>(next), LEAST_SEGMENTS) * tcb->m_segmentSize;
	if (queued > (starting ? MOST_QUEUED_IN_START : MOST_QUEUED))
		tcb->m_ssThresh = std::min(tcb->m_ssThresh.Get(), tcb->m_cWnd.Get());
	else if (starting)
		SlowStart(tcb, segments_acked);
	tcb->m_ssThresh = std::max(tcb->m_ssThresh.Get(), tcb->m_cWnd.Get() / 4 * 3);
}

uint32_t Vegas::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
	return std::max(tcb->GetCwndInSegments() / 2, LEAST_SEGMENTS) * tcb->m_segmentSize;
}

} // namespace landspeed
