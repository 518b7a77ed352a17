#include "mend/cubic.h"

#include <ns3/boolean.h>
#include <ns3/simulator.h>
#include <ns3/tcp-socket-state.h>

#include <algorithm>
#include <cmath>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr double C = 0.4;                             // RFC 9438 section 4.1, segments/s³
constexpr double BETA = 0.7;                          // section 4.6
constexpr double ALPHA = 3 * (1 - BETA) / (1 + BETA); // section 4.3
constexpr double MOST_GROWTH = 0.5;                   // of the window in a round trip; section 4.2
constexpr double LEAST_GROWTH = 0.01;                 // Linux; at the plateau
constexpr double LEAST_GROWTH_UNKNOWN = 0.05;         // Linux; before the first loss

double NowSeconds()
{
	return Simulator::Now().GetSeconds();
}

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Cubic);

TypeId Cubic::GetTypeId()
{
	static TypeId id =
	    TypeId("landspeed::Cubic")
		.SetParent<TcpCongestionOps>()
		.AddConstructor<Cubic>()
		.AddAttribute("HyStart", "End slow start early", BooleanValue(true),
			      MakeBooleanAccessor(&Cubic::hystart_on_), MakeBooleanChecker())
		.AddAttribute("Paced", "The sender paces, as with fq", BooleanValue(false),
			      MakeBooleanAccessor(&Cubic::paced_), MakeBooleanChecker());
	return id;
}

uint32_t Cubic::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
	double window = static_cast<double>(tcb->m_cWnd.Get()) / tcb->m_segmentSize;
	// Fast convergence, section 4.7: a window below the last maximum leaves room for a
	// newcomer. In whole segments, as the window grows in them: one that has reached the
	// plateau is not below it.
	last_max_ = window < last_max_ ? std::floor(window * (1 + BETA) / 2) : window;
	epoch_.reset();
	auto segments = static_cast<uint32_t>(std::max(window * BETA, 2.0));
	return segments * tcb->m_segmentSize;
}

double Cubic::Growth(const TcpSocketState &tcb)
{
	double window = static_cast<double>(tcb.m_cWnd.Get()) / tcb.m_segmentSize;
	if (!epoch_) {
		double origin = std::max(window, last_max_);
		epoch_ = Epoch{NowSeconds(), origin, std::cbrt((origin - window) / C), window};
		credit_ = 0;
	}
	double rtt_s = tcb.m_minRtt == Time::Max() ? 0 : tcb.m_minRtt.GetSeconds();
	double from_plateau_s = NowSeconds() - epoch_->start_s + rtt_s - epoch_->k_s;
	double target = epoch_->origin + C * from_plateau_s * from_plateau_s * from_plateau_s;
	double least = last_max_ > 0 ? LEAST_GROWTH / window : LEAST_GROWTH_UNKNOWN;
	double growth = std::clamp((target - window) / window, least, MOST_GROWTH);
	// Section 4.3: never behind what Reno would have. Linux keeps ALPHA where the section would
	// have 1 from the window before the loss on (net/ipv4/tcp_cubic.c, bictcp_update).
	epoch_->reno += ALPHA / window;
	return std::max(growth, (epoch_->reno - window) / window);
}

void Cubic::IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	last_ack_s_ = NowSeconds();
	if (tcb->m_cWnd < tcb->m_ssThresh) {
		uint32_t room =
		    (tcb->m_ssThresh - tcb->m_cWnd + tcb->m_segmentSize - 1) / tcb->m_segmentSize;
		uint32_t taken = std::min(segmentsAcked, room);
		tcb->m_cWnd += taken * tcb->m_segmentSize;
		segmentsAcked -= taken;
	}
	for (; segmentsAcked > 0; --segmentsAcked)
		credit_ += Growth(*tcb);
	if (credit_ >= 1) {
		auto whole = static_cast<uint32_t>(credit_);
		tcb->m_cWnd += whole * tcb->m_segmentSize;
		credit_ -= whole;
	}
}

void Cubic::PktsAcked(Ptr<TcpSocketState> tcb, uint32_t, const Time &rtt)
{
	if (!hystart_on_ || !rtt.IsStrictlyPositive())
		return;
	if (!hystart_)
		hystart_.emplace(paced_);
	bool round_ended = tcb->m_lastAckedSeq > round_end_;
	if (round_ended)
		round_end_ = tcb->m_highTxMark;
	// In recovery the window is not slow start's, and may be below the threshold for a while.
	bool slow_start = tcb->m_cWnd < tcb->m_ssThresh &&
			  tcb->m_congState != TcpSocketState::CA_RECOVERY &&
			  tcb->m_congState != TcpSocketState::CA_CWR;
	if (slow_start &&
	    hystart_->Acknowledged(Simulator::Now().GetNanoSeconds(), rtt.GetNanoSeconds(),
				   tcb->GetCwndInSegments(), round_ended))
		tcb->m_ssThresh = tcb->m_cWnd.Get();
}

void Cubic::CongestionStateSet(Ptr<TcpSocketState>, const TcpSocketState::TcpCongState_t newState)
{
	if (newState != TcpSocketState::CA_LOSS)
		return;
	// Linux forgets the curve after a timeout (section 4.8 leaves W_max).
	epoch_.reset();
	last_max_ = 0;
	if (hystart_)
		hystart_->Restart();
}

// An idle time moves the curve, section 5.8: the window does not grow while nothing is sent.
void Cubic::CwndEvent(Ptr<TcpSocketState>, const TcpSocketState::TcpCAEvent_t event)
{
	if (event == TcpSocketState::CA_EVENT_TX_START && epoch_)
		epoch_->start_s +=
		    std::max(0.0, NowSeconds() - std::max(last_ack_s_, epoch_->start_s));
}

} // namespace landspeed
