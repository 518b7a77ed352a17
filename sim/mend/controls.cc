#include "mend/controls.h"

#include <ns3/simulator.h>
#include <ns3/tcp-socket-state.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr uint32_t BBR_SHORTEST_FOR_S = 10;         // of the filter: RTpropFilterLen
constexpr uint32_t BBR_PACED_PERCENT = 99;          // bbr_pacing_margin_percent is 1
constexpr uint32_t SCALABLE_SEGMENTS_FOR_ONE = 100; // Kelly's a = 0.01
constexpr uint32_t SCALABLE_LOSS_SHARE = 8;         // his b = 1/8

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Bbr);
NS_OBJECT_ENSURE_REGISTERED(Dctcp);
NS_OBJECT_ENSURE_REGISTERED(Scalable);

TypeId Bbr::GetTypeId()
{
	static TypeId id = TypeId("landspeed::Bbr").SetParent<TcpBbr>().AddConstructor<Bbr>();
	return id;
}

std::string Bbr::GetName() const
{
	return "BBR";
}

void Bbr::CongestionStateSet(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCongState_t newState)
{
	const bool loses =
	    newState == TcpSocketState::CA_LOSS || newState == TcpSocketState::CA_RECOVERY;
	if (loses) {
		const bool small = repairing_ || GetBbrState() == BBR_PROBE_RTT;
		window_before_ =
		    small ? std::max(window_before_, tcb->m_cWnd.Get()) : tcb->m_cWnd.Get();
		timed_out_ |= newState == TcpSocketState::CA_LOSS;
	}
	TcpBbr::CongestionStateSet(tcb, newState);
	if (newState == TcpSocketState::CA_OPEN && shortest_ == Time::Max()) {
		shortest_ = tcb->m_lastRtt;
		renewed_at_ = Simulator::Now();
	}
	if (newState == TcpSocketState::CA_OPEN && timed_out_) {
		tcb->m_cWnd = std::max(tcb->m_cWnd.Get(), window_before_);
		timed_out_ = false;
	}
	if (loses || newState == TcpSocketState::CA_OPEN)
		repairing_ = loses;
}

void Bbr::CwndEvent(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCAEvent_t event)
{
	const bool probed = GetBbrState() == BBR_PROBE_RTT;
	TcpBbr::CwndEvent(tcb, event);
	LookWhetherProbed(probed);
}

// The end of PROBE_RTT counts as a new measurement.
void Bbr::LookWhetherProbed(bool probed)
{
	if (probed && GetBbrState() != BBR_PROBE_RTT)
		renewed_at_ = Simulator::Now();
}

// Linux, bbr_update_min_rtt. With `<=`, which is ns-3's, a path whose queue is empty now and then
// is never probed: each such round trip is the shortest to the nanosecond.
bool Bbr::Renews(const Time &round_trip)
{
	const bool expired = Simulator::Now() > renewed_at_ + Seconds(BBR_SHORTEST_FOR_S);
	if (round_trip >= shortest_ && !expired)
		return false;
	shortest_ = round_trip;
	renewed_at_ = Simulator::Now();
	return true;
}

// Linux marks the connection as application-limited in PROBE_RTT (bbr_update_min_rtt), so that what
// was sent then does not lower the bandwidth. ns-3's keeps the mark to itself, where nobody asks
// for it.
void Bbr::CongControl(Ptr<TcpSocketState> tcb, const TcpRateOps::TcpRateConnection &rc,
		      const TcpRateOps::TcpRateSample &rs)
{
	// What had been delivered when the segment was sent, of which the sample has 32 bits.
	const uint64_t before =
	    rc.m_delivered - (static_cast<uint32_t>(rc.m_delivered) - rs.m_priorDelivered);
	TcpRateOps::TcpRateSample told = rs;
	told.m_isAppLimited |= few_until_ > 0 && before >= few_from_ && before <= few_until_;
	const bool probed = GetBbrState() == BBR_PROBE_RTT;
	const Time round_trip = tcb->m_lastRtt;
	if (!Renews(round_trip))
		tcb->m_lastRtt = Time(-1); // of which ns-3's takes no notice
	const DataRate paced = tcb->m_pacingRate;
	TcpBbr::CongControl(tcb, rc, told);
	tcb->m_lastRtt = round_trip;
	const DataRate rate = tcb->m_pacingRate;
	if (rate != paced && rate < tcb->m_maxPacingRate)
		tcb->m_pacingRate = DataRate(rate.GetBitRate() / 100 * BBR_PACED_PERCENT);
	LookWhetherProbed(probed);
	if (GetBbrState() != BBR_PROBE_RTT)
		return;
	if (rc.m_delivered > few_until_)
		few_from_ = rc.m_delivered;
	few_until_ = rc.m_delivered + std::max<uint64_t>(tcb->m_bytesInFlight.Get(), 1);
}

Ptr<TcpCongestionOps> Bbr::Fork()
{
	return CopyObject<Bbr>(this);
}

TypeId Dctcp::GetTypeId()
{
	static TypeId id = TypeId("landspeed::Dctcp").SetParent<TcpDctcp>().AddConstructor<Dctcp>();
	return id;
}

std::string Dctcp::GetName() const
{
	return "DCTCP";
}

uint32_t Dctcp::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight)
{
	// The socket asks for a mark's answer while it takes in the mark, outside a recovery.
	const bool marked = tcb->m_ecnState == TcpSocketState::ECN_ECE_RCVD &&
			    tcb->m_congState != TcpSocketState::CA_RECOVERY &&
			    tcb->m_congState != TcpSocketState::CA_LOSS;
	if (marked)
		return TcpDctcp::GetSsThresh(tcb, bytesInFlight);
	return std::max(tcb->m_cWnd.Get() / 2, 2 * tcb->m_segmentSize);
}

Ptr<TcpCongestionOps> Dctcp::Fork()
{
	return CopyObject<Dctcp>(this);
}

TypeId Scalable::GetTypeId()
{
	static TypeId id =
	    TypeId("landspeed::Scalable").SetParent<TcpNewReno>().AddConstructor<Scalable>();
	return id;
}

std::string Scalable::GetName() const
{
	return "Scalable";
}

// Below a hundred segments, as Reno does.
void Scalable::CongestionAvoidance(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	const uint32_t for_one = std::min(tcb->GetCwndInSegments(), SCALABLE_SEGMENTS_FOR_ONE);
	acknowledged_segments_ += segmentsAcked;
	tcb->m_cWnd += acknowledged_segments_ / for_one * tcb->m_segmentSize;
	acknowledged_segments_ %= for_one;
}

uint32_t Scalable::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
	const uint32_t segments = tcb->GetCwndInSegments();
	return std::max(segments - segments / SCALABLE_LOSS_SHARE, 2U) * tcb->m_segmentSize;
}

Ptr<TcpCongestionOps> Scalable::Fork()
{
	return CopyObject<Scalable>(this);
}

} // namespace landspeed
