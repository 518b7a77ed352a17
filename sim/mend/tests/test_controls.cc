// What congestion controls make of a loss: landspeed's with the mends, ns-3's without; and how
// Scalable and H-TCP grow, and those that fall back on NewReno's avoidance.

#include "mend/tests/check.h"
#include "mend/tests/full_window.h"

#include <ns3/enum.h>
#include <ns3/simulator.h>
#include <ns3/tcp-dctcp.h>
#include <ns3/tcp-header.h>
#include <ns3/tcp-htcp.h>
#include <ns3/tcp-illinois.h>
#include <ns3/tcp-rx-buffer.h>
#include <ns3/tcp-scalable.h>
#include <ns3/tcp-socket-state.h>
#include <ns3/tcp-vegas.h>
#include <ns3/tcp-westwood.h>
#include <ns3/tcp-yeah.h>

#ifdef LANDSPEED_MENDED
#include "mend/controls.h"
#include "mend/htcp.h"
#include "mend/illinois.h"
#include "mend/vegas.h"
#include "mend/westwood.h"
#include "mend/yeah.h"
using landspeed::Dctcp;
using landspeed::Htcp;
using landspeed::Illinois;
using landspeed::Scalable;
using landspeed::Vegas;
using landspeed::Westwood;
using landspeed::Yeah;
#else
using Dctcp = ns3::TcpDctcp;
using Htcp = ns3::TcpHtcp;
using Illinois = ns3::TcpIllinois;
using Scalable = ns3::TcpScalable;
using Vegas = ns3::TcpVegas;
using Westwood = ns3::TcpWestwood;
using Yeah = ns3::TcpYeah;
#endif

using namespace ns3;

namespace
{

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

// Among many flows everything is marked: two segments stay (Linux's dctcp_ssthresh), as at a loss.
void DctcpLeast()
{
	auto state = FullWindow();
	auto dctcp = CreateObject<Dctcp>();
	state->m_ecnState = TcpSocketState::ECN_ECE_RCVD;
	state->m_cWnd = 2 * MSS;
	CheckEqual("of two segments", dctcp->GetSsThresh(state, state->m_cWnd) / MSS, 2);
}

// The first packet of a run is acknowledged at once, with what it says itself.
void DctcpTurns()
{
	auto state = FullWindow();
	state->m_rxBuffer = CreateObject<TcpRxBuffer>();
	uint32_t sent = 0;
	uint8_t told = 0;
	state->m_sendEmptyPacketCallback = [&](uint8_t flags) {
		sent++;
		told = flags;
	};
	auto dctcp = CreateObject<Dctcp>();
	const auto arrive = [&](TcpSocketState::TcpCAEvent_t kind) {
		dctcp->CwndEvent(state, kind);
		dctcp->CwndEvent(state, TcpSocketState::CA_EVENT_DELAYED_ACK);
	};
	arrive(TcpSocketState::CA_EVENT_ECN_IS_CE);
	CheckEqual("at the first mark", sent, 1);
	CheckEqual("with ECE", told & TcpHeader::ECE, TcpHeader::ECE);
	arrive(TcpSocketState::CA_EVENT_ECN_IS_CE);
	CheckEqual("at the next", sent, 1);
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

// A round trip that a queue stretches to so many ms; the next one is another one's.
void SeeRoundTrip(const Ptr<Yeah> &yeah, const Ptr<TcpSocketState> &state, int64_t rtt_ms)
{
	yeah->CongestionStateSet(state, TcpSocketState::CA_OPEN);
	for (uint32_t sample = 0; sample < 3; ++sample)
		yeah->PktsAcked(state, 1, MilliSeconds(rtt_ms));
	state->m_nextTxSequence = state->m_nextTxSequence.Get() + WINDOW_SEGMENTS;
	state->m_lastAckedSeq = state->m_nextTxSequence;
	yeah->IncreaseWindow(state, 1);
}

// RFC 5681 section 3.1. YeAH has it while it believes that it competes with Reno: from a round trip
// on that a queue has doubled.
void NewRenoGrowth()
{
	CheckNear("Westwood, segments", GrowthOfARound(CreateObject<Westwood>()), 1, 0.001);
	auto yeah = CreateObject<Yeah>();
	auto state = FullWindow();
	state->m_ssThresh = state->m_cWnd.Get() / 2;
	SeeRoundTrip(yeah, state, 264);
	SeeRoundTrip(yeah, state, 528);
	CheckNear("YeAH, segments", GrowthOfARound(yeah), 1, 0.001);
}

// A queue of 40 of 400 segments, a ninth of the round trip, is short: no more than Q_max = 80
// segments wait, nor an eighth of the round trip. YeAH goes on as Scalable does.
void YeahStaysFast()
{
	auto yeah = CreateObject<Yeah>();
	auto state = FullWindow();
	state->m_cWnd = 400 * MSS;
	state->m_ssThresh = state->m_cWnd.Get() / 2;
	SeeRoundTrip(yeah, state, 270);
	SeeRoundTrip(yeah, state, 300);
	CheckNear("in a round trip, segments", GrowthOfARound(yeah), WINDOW_SEGMENTS / 100.0, 1e-3);
}

// An eighth of the window, however much of it was found lost and is no longer in flight.
void YeahAtALoss()
{
	auto state = FullWindow();
	auto yeah = CreateObject<Yeah>();
	CheckEqual("left, segments", yeah->GetSsThresh(state, state->m_cWnd / 2) / MSS,
		   WINDOW_SEGMENTS * 7 / 8);
}

// Grieco and Mascolo 2004: a loss halves the window. When it is repaired, the window is what the
// filtered rate delivers in the shortest round trip. Two filters that keep 7/8 each are, k steps
// after the rate has doubled, (1 + k/8) (7/8)^k short of the new rate.
void WestwoodAtALoss()
{
	constexpr int64_t rtt_ms = 200;
	constexpr uint32_t rounds = 8;
	auto state = FullWindow();
	auto westwood = CreateObject<Westwood>();
#ifndef LANDSPEED_MENDED
	westwood->SetAttribute("ProtocolType", EnumValue(TcpWestwood::WESTWOODPLUS));
#endif
	// An acknowledgment each millisecond, of one segment, then of two.
	uint32_t acknowledged = 1;
	const auto acknowledge = [&] {
		state->m_lastAckedSackedBytes = acknowledged * MSS;
		westwood->PktsAcked(state, acknowledged, MilliSeconds(rtt_ms));
	};
	const auto until_ms = static_cast<int64_t>(rounds + 2) * (rtt_ms + 1);
	for (int64_t at_ms = 0; at_ms <= until_ms; ++at_ms)
		Simulator::Schedule(MilliSeconds(at_ms), [&, at_ms] {
			acknowledged = at_ms < 2 * (rtt_ms + 1) ? 1 : 2;
			acknowledge();
		});
	uint32_t at_loss = 0;
	Simulator::Schedule(MilliSeconds(until_ms) + MicroSeconds(1), [&] {
		at_loss = westwood->GetSsThresh(state, state->m_cWnd);
		state->m_ssThresh = at_loss;
		westwood->CwndEvent(state, TcpSocketState::CA_EVENT_COMPLETE_CWR);
	});
	Simulator::Run();
	Simulator::Destroy();
	CheckEqual("at a loss, segments", at_loss / MSS, WINDOW_SEGMENTS / 2);
	const double doubled = 2 - (1 + rounds / 8.0) * std::pow(7 / 8.0, rounds);
	CheckNear("repaired, segments", static_cast<double>(state->m_ssThresh) / MSS,
		  rtt_ms * doubled, 0.01);
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

// The window halves at a loss.
void VegasAtALoss()
{
	auto state = FullWindow();
	CheckEqual("left, segments", CreateObject<Vegas>()->GetSsThresh(state, state->m_cWnd) / MSS,
		   WINDOW_SEGMENTS / 2);
}

// Slow start ends when more than one segment waits in queues, and then goes to what the rate
// delivers, rounded up. A round trip that is 0.12 of 60 ms longer has 1.3 of 640 segments waiting,
// which is one: it goes on. Of 1280 it has 2.6: that is the end.
void VegasEndsSlowStart()
{
	const Time shortest = MicroSeconds(60'000);
	const Time longer = MicroSeconds(60'120);
	for (const uint32_t window : {640, 1280}) {
		auto vegas = CreateObject<Vegas>();
		auto state = FullWindow();
		state->m_cWnd = window * MSS;
		state->m_ssThresh = UINT32_MAX;
		vegas->PktsAcked(state, 1, shortest);
		vegas->CongestionStateSet(state, TcpSocketState::CA_OPEN); // a round trip begins
		for (uint32_t sample = 0; sample < 3; ++sample)
			vegas->PktsAcked(state, 1, longer);
		state->m_lastAckedSeq = state->m_nextTxSequence.Get() + 1;
		vegas->IncreaseWindow(state, 1);
		const double rate = window * (shortest / longer).GetDouble();
		CheckEqual("window, segments", state->m_cWnd.Get() / MSS,
			   window == 640 ? 641 : std::floor(rate) + 1);
	}
}

// A round trip of two samples, as of a window of four with delayed acknowledgments, is Reno's: each
// of the two segments that the acknowledgment which ends it brings counts.
void VegasOfFewSamples()
{
	constexpr uint32_t window = 4, rounds = 4;
	auto vegas = CreateObject<Vegas>();
	auto state = FullWindow();
	state->m_cWnd = window * MSS;
	state->m_ssThresh = 2 * MSS;
	vegas->CongestionStateSet(state, TcpSocketState::CA_OPEN);
	for (uint32_t round = 0; round < rounds; ++round) {
		vegas->PktsAcked(state, 2, MilliSeconds(80));
		vegas->PktsAcked(state, 2, MilliSeconds(80));
		state->m_lastAckedSeq = state->m_nextTxSequence.Get() + 1;
		state->m_nextTxSequence += window * MSS;
		vegas->IncreaseWindow(state, 1);
		vegas->IncreaseWindow(state, 1);
	}
	double should_be = window;
	for (uint32_t segment = 0; segment < 2 * rounds; ++segment)
		should_be += 1 / should_be;
	CheckNear("window, segments", static_cast<double>(state->m_cWnd) / MSS, should_be, 1e-3);
}

// Liu, Basar and Srikant 2008: alpha falls from 10 segments in a round trip to 0.3 where the queue
// is the longest that was seen, and beta rises from 1/8 to 1/2. A window of less than 15 is Reno's.
// In ten windows of acknowledgments, a segment each; Reno's ten are 10 + 11 + … + 16 and some.
void IllinoisGrowth()
{
	struct Case {
		uint32_t window;
		int64_t rtt_us;
		double grown, left;
	};
	for (const Case &each : {Case{WINDOW_SEGMENTS, 400, 3, 0.5},
				 Case{WINDOW_SEGMENTS, 200, 100, 7 / 8.0}, Case{10, 400, 7, 0.5}}) {
		auto illinois = CreateObject<Illinois>();
		auto state = FullWindow();
		state->m_cWnd = each.window * MSS;
		state->m_ssThresh = 2 * MSS;
		for (const int64_t rtt_us : {int64_t{200}, each.rtt_us}) {
			illinois->PktsAcked(state, 1, MicroSeconds(rtt_us));
			state->m_lastAckedSeq = state->m_lastAckedSeq + 1;
			illinois->IncreaseWindow(state, 0); // a round trip ends
		}
		for (uint32_t count = 0; count < 10 * each.window; ++count)
			illinois->IncreaseWindow(state, 1);
		const double now = static_cast<double>(state->m_cWnd) / MSS;
		const double grown = now - each.window;
		Check(std::abs(grown - each.grown) <= 1, "grown, segments", grown, each.grown);
		const double left = illinois->GetSsThresh(state, state->m_cWnd / 2) / MSS;
		Check(std::abs(left - now * each.left) <= 1, "left, segments", left,
		      now * each.left);
	}
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
		       {{"dctcp-at-a-loss", DctcpAtALoss},
			{"dctcp-least", DctcpLeast},
			{"dctcp-turns", DctcpTurns},
			{"new-reno-growth", NewRenoGrowth},
			{"scalable-growth", ScalableGrowth},
			{"scalable-at-a-loss", ScalableAtALoss},
			{"vegas-at-a-loss", VegasAtALoss},
			{"vegas-ends-slow-start", VegasEndsSlowStart},
			{"vegas-of-few-samples", VegasOfFewSamples},
			{"westwood-at-a-loss", WestwoodAtALoss},
			{"yeah-stays-fast", YeahStaysFast},
			{"yeah-at-a-loss", YeahAtALoss},
			{"illinois-growth", IllinoisGrowth},
			{"htcp-growth", HtcpGrowth},
			{"htcp-at-a-loss", HtcpAtALoss}});
}
