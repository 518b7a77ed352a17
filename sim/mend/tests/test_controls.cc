// What congestion controls make of a loss: landspeed's with the mends, ns-3's without; and how
// Scalable and H-TCP grow, and those that fall back on NewReno's avoidance.

#include "mend/tests/check.h"

#include <ns3/simulator.h>
#include <ns3/tcp-bbr.h>
#include <ns3/tcp-dctcp.h>
#include <ns3/tcp-htcp.h>
#include <ns3/tcp-scalable.h>
#include <ns3/tcp-socket-state.h>
#include <ns3/tcp-vegas.h>
#include <ns3/tcp-westwood.h>
#include <ns3/tcp-yeah.h>

#ifdef LANDSPEED_MENDED
#include "mend/controls.h"
#include "mend/htcp.h"
using landspeed::Bbr;
using landspeed::Dctcp;
using landspeed::Htcp;
using landspeed::Scalable;
using landspeed::Vegas;
#else
using Bbr = ns3::TcpBbr;
using Dctcp = ns3::TcpDctcp;
using Htcp = ns3::TcpHtcp;
using Scalable = ns3::TcpScalable;
using Vegas = ns3::TcpVegas;
#endif

using namespace ns3;

namespace
{

constexpr uint32_t MSS = 8948;
constexpr uint32_t WINDOW_SEGMENTS = 40'000;

Ptr<TcpSocketState> FullWindow()
{
	auto state = CreateObject<TcpSocketState>();
	state->m_segmentSize = MSS;
	state->m_cWnd = WINDOW_SEGMENTS * MSS;
	state->m_lastRtt = MilliSeconds(264);
	return state;
}

// Back to the window of before, also if a second timeout came in between.
void BbrAfterTimeouts()
{
	auto state = FullWindow();
	auto bbr = CreateObject<Bbr>();
	bbr->CongestionStateSet(state, TcpSocketState::CA_OPEN);
	for (uint32_t window : {1, 4}) {
		bbr->CongestionStateSet(state, TcpSocketState::CA_LOSS);
		state->m_congState = TcpSocketState::CA_LOSS;
		state->m_cWnd = window * MSS;
	}
	bbr->CongestionStateSet(state, TcpSocketState::CA_OPEN);
	CheckEqual("window, segments", state->m_cWnd.Get() / MSS, WINDOW_SEGMENTS);
}

// Half at a loss, whatever was marked; what the marks say at a mark.
void DctcpAtALoss()
{
	auto state = FullWindow();
	auto dctcp = CreateObject<Dctcp>();
	state->m_ecnState = TcpSocketState::ECN_ECE_RCVD;
	// ns-3 begins with everything marked.
	CheckEqual("at a mark", dctcp->GetSsThresh(state, state->m_cWnd) / MSS,
		   WINDOW_SEGMENTS / 2);
	state->m_ecnState = TcpSocketState::ECN_IDLE;
	for (uint32_t round = 1; round <= 100; ++round) { // unmarked round trips
		state->m_nextTxSequence = SequenceNumber32(round * 1000);
		state->m_lastAckedSeq = state->m_nextTxSequence;
		dctcp->PktsAcked(state, 10, MilliSeconds(264));
	}
	state->m_congState = TcpSocketState::CA_RECOVERY;
	CheckEqual("at a loss", dctcp->GetSsThresh(state, state->m_cWnd) / MSS,
		   WINDOW_SEGMENTS / 2);
}

// Each segment of a window is acknowledged once: so many segments more.
double GrowthOfARound(const Ptr<TcpCongestionOps> &control)
{
	auto state = FullWindow();
	state->m_ssThresh = state->m_cWnd.Get() / 2;
	for (uint32_t count = 0; count < WINDOW_SEGMENTS; ++count)
		control->IncreaseWindow(state, 1);
	return static_cast<double>(state->m_cWnd) / MSS - WINDOW_SEGMENTS;
}

// RFC 5681 section 3.1. YeAH has it while it believes that it competes with Reno.
void NewRenoGrowth()
{
	CheckNear("Westwood, segments", GrowthOfARound(CreateObject<TcpWestwood>()), 1, 0.001);
	// A round trip doubled by a queue: YeAH's slow mode from the next one on.
	auto yeah = CreateObject<TcpYeah>();
	auto state = FullWindow();
	state->m_ssThresh = state->m_cWnd.Get() / 2;
	for (uint32_t round : {1, 2}) {
		yeah->CongestionStateSet(state, TcpSocketState::CA_OPEN);
		for (uint32_t sample = 0; sample < 3; ++sample)
			yeah->PktsAcked(state, 1, MilliSeconds(264 * round));
		yeah->IncreaseWindow(state, 1);
	}
	CheckNear("YeAH, segments", GrowthOfARound(yeah), 1, 0.001);
}

// Kelly 2003, a = 0.01: a segment for each hundred that are acknowledged. Every round trip begins
// with the window that the one before left, so that 70 of them double it (ln 2 / ln 1.01 = 69.66).
void ScalableGrowth()
{
	CheckEqual("in a round trip, segments", GrowthOfARound(CreateObject<Scalable>()),
		   WINDOW_SEGMENTS / 100.0);
	auto scalable = CreateObject<Scalable>();
	auto state = FullWindow();
	state->m_cWnd = WINDOW_SEGMENTS / 2 * MSS;
	state->m_ssThresh = state->m_cWnd.Get() / 2;
	uint32_t rounds = 0;
	for (; state->m_cWnd < WINDOW_SEGMENTS * MSS; ++rounds)
		for (uint32_t left = state->m_cWnd / MSS; left > 0; --left)
			scalable->IncreaseWindow(state, 1);
	CheckEqual("doubles in round trips", rounds, std::ceil(std::log(2.0) / std::log(1.01)));
}

// b = 1/8 of the window, however much of it was found lost and is no longer in flight.
void ScalableAtALoss()
{
	auto state = FullWindow();
	auto scalable = CreateObject<Scalable>();
	CheckEqual("left, segments", scalable->GetSsThresh(state, state->m_cWnd / 2) / MSS,
		   WINDOW_SEGMENTS * 7 / 8);
}

// The window halves at a loss, and where Vegas itself ends slow start a segment is taken off.
void VegasAtALoss()
{
	auto state = FullWindow();
	CheckEqual("left, segments", CreateObject<Vegas>()->GetSsThresh(state, state->m_cWnd) / MSS,
		   WINDOW_SEGMENTS / 2);
}

// draft-leith-tcp-htcp-06 section 2: alpha = 2 (1 - beta) (1 + 10 (t - 1) + ((t - 1) / 2)^2)
// segments in a round trip of 100 ms, t seconds after a loss; in one of 200 ms twice as many, as
// Linux has it.
void HtcpGrowth()
{
	for (const int64_t rtt_ms : {100, 200}) {
		auto htcp = CreateObject<Htcp>();
		auto state = FullWindow();
		htcp->PktsAcked(state, 1, MilliSeconds(rtt_ms));
		double growth = 0;
		Simulator::Schedule(Seconds(5), [&] {
			GrowthOfARound(htcp); // alpha is what it was when the window last grew
			growth = GrowthOfARound(htcp);
		});
		Simulator::Run();
		Simulator::Destroy();
		const double alpha = (1 + 10 * 4 + 4) * static_cast<double>(rtt_ms) / 100;
		CheckNear("in a round trip, segments", growth, alpha, 0.03); // one more or less
	}
}

// A loss leaves half, whatever was in flight; later, at an even bandwidth, what the queue
// stretched.
void HtcpAtALoss()
{
	auto state = FullWindow();
	CheckEqual("left, segments", CreateObject<Htcp>()->GetSsThresh(state, 0) / MSS,
		   WINDOW_SEGMENTS / 2);
}

} // namespace

int main(int argc, char **argv)
{
	return RunTest(argc, argv,
		       {{"bbr-after-timeouts", BbrAfterTimeouts},
			{"dctcp-at-a-loss", DctcpAtALoss},
			{"new-reno-growth", NewRenoGrowth},
			{"scalable-growth", ScalableGrowth},
			{"scalable-at-a-loss", ScalableAtALoss},
			{"vegas-at-a-loss", VegasAtALoss},
			{"htcp-growth", HtcpGrowth},
			{"htcp-at-a-loss", HtcpAtALoss}});
}
