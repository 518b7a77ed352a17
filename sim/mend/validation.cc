#include "mend/validation.h"

#include "mend/new_reno.h"

#include <ns3/object-factory.h>
#include <ns3/type-id.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

NS_OBJECT_ENSURE_REGISTERED(WindowValidation);

TypeId WindowValidation::GetTypeId()
{
	static TypeId id = TypeId("landspeed::WindowValidation")
			       .SetParent<TcpCongestionOps>()
			       .AddConstructor<WindowValidation>()
			       .AddAttribute("Algorithm", "The congestion control inside",
					     TypeIdValue(NewReno::GetTypeId()),
					     MakeTypeIdAccessor(&WindowValidation::algorithm_type_),
					     MakeTypeIdChecker());
	return id;
}

// The socket calls this for each algorithm it is given, also for the copy that a listening socket's
// child gets.
void WindowValidation::Init(Ptr<TcpSocketState> tcb)
{
	ObjectFactory factory;
	factory.SetTypeId(algorithm_type_);
	algorithm_ = factory.Create<TcpCongestionOps>();
	algorithm_->Init(tcb);
}

Ptr<TcpCongestionOps> WindowValidation::Algorithm() const
{
	return algorithm_;
}

std::string WindowValidation::GetName() const
{
	return algorithm_ ? algorithm_->GetName() : algorithm_type_.GetName();
}

bool WindowValidation::Limits(Ptr<const TcpSocketState> tcb)
{
	// In flight when this acknowledgment came: what it took off has been taken off already.
	uint32_t in_flight = tcb->m_bytesInFlight + tcb->m_lastAckedSackedBytes;
	uint64_t window = tcb->m_cWnd;
	bool full = window < uint64_t{in_flight} + tcb->m_segmentSize;
	// A window that was full once counts as full for a round trip. Where the host makes the
	// socket wait, it cannot be full again before what a burst of acknowledgments set free has
	// left the host.
	if (full || tcb->m_lastAckedSeq >= round_end_ || (!full_ && in_flight > most_in_flight_)) {
		full_ = full;
		most_in_flight_ = in_flight;
		round_end_ = tcb->m_highTxMark;
	}
	return full_ || (tcb->m_cWnd < tcb->m_ssThresh && window < uint64_t{2} * most_in_flight_);
}

void WindowValidation::IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	if (!Limits(tcb))
		return;
	// What a SACK had delivered before counts no more when it is acknowledged.
	uint32_t delivered =
	    (tcb->m_lastAckedSackedBytes + tcb->m_segmentSize - 1) / tcb->m_segmentSize;
	for (uint32_t count = std::min(segmentsAcked, delivered); count > 0; --count)
		algorithm_->IncreaseWindow(tcb, 1);
}

void WindowValidation::PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked, const Time &rtt)
{
	algorithm_->PktsAcked(tcb, segmentsAcked, rtt);
}

uint32_t WindowValidation::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight)
{
	return algorithm_->GetSsThresh(tcb, bytesInFlight);
}

void WindowValidation::CongestionStateSet(Ptr<TcpSocketState> tcb,
					  const TcpSocketState::TcpCongState_t newState)
{
	algorithm_->CongestionStateSet(tcb, newState);
}

void WindowValidation::CwndEvent(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCAEvent_t event)
{
	algorithm_->CwndEvent(tcb, event);
}

bool WindowValidation::HasCongControl() const
{
	return algorithm_->HasCongControl();
}

void WindowValidation::CongControl(Ptr<TcpSocketState> tcb, const TcpRateOps::TcpRateConnection &rc,
				   const TcpRateOps::TcpRateSample &rs)
{
	algorithm_->CongControl(tcb, rc, rs);
}

Ptr<TcpCongestionOps> WindowValidation::Fork()
{
	return CopyObject<WindowValidation>(this);
}

} // namespace landspeed
