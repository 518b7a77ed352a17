// What congestion controls make of a loss: landspeed's with the mends, ns-3's without; and how
// Scalable and H-TCP grow, and those that fall back on NewReno's avoidance.

#include "mend/tests/check.h"

#include <ns3/packet.h>
#include <ns3/simulator.h>
#include <ns3/tcp-bbr.h>
#include <ns3/tcp-dctcp.h>
#include <ns3/tcp-htcp.h>
#include <ns3/tcp-rate-ops.h>
#include <ns3/tcp-scalable.h>
#include <ns3/tcp-socket-state.h>
#include <ns3/tcp-tx-buffer.h>
#include <ns3/tcp-vegas.h>
#include <ns3/tcp-westwood.h>
#include <ns3/tcp-yeah.h>

#ifdef LANDSPEED_MENDED
#include "mend/controls.h"
#include "mend/delivery_rate.h"
#include "mend/htcp.h"
using landspeed::Bbr;
using landspeed::Dctcp;
using landspeed::DeliveryRate;
using landspeed::Htcp;
using landspeed::Scalable;
using landspeed::Vegas;
#else
using Bbr = ns3::TcpBbr;
using Dctcp = ns3::TcpDctcp;
using DeliveryRate = ns3::TcpRateLinux;
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

// A segment each 10 ms, and an acknowledgment for two: after 12, 45 and 65 ms. The last one is of a
// segment sent at 50 ms, when those sent until 30 ms had been delivered: two segments in 20 ms.
void RateOfPairs()
{
	auto rate = CreateObject<DeliveryRate>();
	auto buffer = CreateObject<TcpTxBuffer>(1);
	buffer->SetMaxBufferSize(UINT32_MAX);
	buffer->SetSegmentSize(MSS);
	for (uint32_t number = 0; number < 6; ++number)
		buffer->Add(Create<Packet>(MSS));
	for (uint32_t number = 0; number < 6; ++number)
		Simulator::Schedule(MilliSeconds(10 * number), [=] {
			rate->SkbSent(
			    buffer->CopyFromSequence(MSS, SequenceNumber32(1 + number * MSS)),
			    number == 0);
		});
	double rate_bps = 0;
	uint32_t acknowledged = 0;
	for (const int64_t at_ms : {12, 45, 65})
		Simulator::Schedule(MilliSeconds(at_ms), [&] {
			acknowledged += 2;
			buffer->DiscardUpTo(SequenceNumber32(1 + acknowledged * MSS),
					    MakeCallback(&TcpRateOps::SkbDelivered, rate));
			rate_bps = static_cast<double>(
			    rate->GenerateSample(2 * MSS, 0, false, 0, MilliSeconds(2))
				.m_deliveryRate.GetBitRate());
		});
	Simulator::Run();
	Simulator::Destroy();
	CheckNear("bit/s", rate_bps, 2 * MSS * 8 / 0.020, 1e-6);
}

// What was sent in PROBE_RTT does not lower the bandwidth, of which the pacing rate is made.
void BbrProbesTheRoundTrip()
{
	auto state = FullWindow();
	auto bbr = CreateObject<Bbr>();
	bbr->CongestionStateSet(state, TcpSocketState::CA_OPEN);
	TcpRateOps::TcpRateConnection connection;
	TcpRateOps::TcpRateSample sample;
	sample.m_interval = MilliSeconds(264);
	const auto rounds = [&](uint32_t count, uint32_t segments, uint64_t rate_bps) {
		for (uint32_t round = 0; round < count; ++round) {
			sample.m_priorDelivered = static_cast<uint32_t>(connection.m_delivered);
			sample.m_delivered = static_cast<int32_t>(segments * MSS);
			sample.m_ackedSacked = segments * MSS;
			sample.m_deliveryRate = DataRate(rate_bps);
			connection.m_delivered += segments * MSS;
			state->m_bytesInFlight = segments * MSS;
			bbr->CongControl(state, connection, sample);
		}
	};
	constexpr uint64_t full_bps = 1'000'000'000;
	rounds(20, 100, full_bps);
	Simulator::Schedule(Seconds(11), [&] { rounds(20, 4, full_bps / 100); });
	Simulator::Run();
	Simulator::Destroy();
	CheckEqual("window in PROBE_RTT, segments", state->m_cWnd.Get() / MSS, 4);
	CheckNear("pacing rate, bit/s", static_cast<double>(state->m_pacingRate.Get().GetBitRate()),
		  full_bps, 1e-6);
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
			{"bbr-probes-the-round-trip", BbrProbesTheRoundTrip},
			{"rate-of-pairs", RateOfPairs},
			{"dctcp-at-a-loss", DctcpAtALoss},
			{"new-reno-growth", NewRenoGrowth},
			{"scalable-growth", ScalableGrowth},
			{"scalable-at-a-loss", ScalableAtALoss},
			{"vegas-at-a-loss", VegasAtALoss},
			{"htcp-growth", HtcpGrowth},
			{"htcp-at-a-loss", HtcpAtALoss}});
}
