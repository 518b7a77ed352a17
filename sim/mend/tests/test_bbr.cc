// What BBR makes of timeouts and of its looks at the round trip, and the delivery rate that it is
// told: landspeed's with the mends, ns-3's without.

#include "mend/tests/check.h"
#include "mend/tests/full_window.h"

#include <ns3/packet.h>
#include <ns3/simulator.h>
#include <ns3/tcp-bbr.h>
#include <ns3/tcp-rate-ops.h>
#include <ns3/tcp-tx-buffer.h>

#ifdef LANDSPEED_MENDED
#include "mend/bbr.h"
#include "mend/delivery_rate.h"
#include "mend/send_buffer.h"
using SentBytes = landspeed::SendBuffer;
using landspeed::Bbr;
using landspeed::DeliveryRate;
#else
using SentBytes = ns3::TcpTxBuffer;
using Bbr = ns3::TcpBbr;
using DeliveryRate = ns3::TcpRateLinux;
#endif

using namespace ns3;

namespace
{

// Back to the window of before, also if a second timeout came in between.
void BbrAfterTimeouts()
{
	auto state = FullWindow();
	auto bbr = CreateObject<Bbr>();
	bbr->CongestionStateSet(state, TcpSocketState::CA_OPEN);
	for (uint32_t window : {1, 4}) {
		state->m_ssThresh = bbr->GetSsThresh(state, 0);
		bbr->CongestionStateSet(state, TcpSocketState::CA_LOSS);
		state->m_congState = TcpSocketState::CA_LOSS;
		state->m_cWnd = window * MSS;
	}
	bbr->CongestionStateSet(state, TcpSocketState::CA_OPEN);
	state->m_congState = TcpSocketState::CA_OPEN;
	TcpRateOps::TcpRateSample sample;
	sample.m_ackedSacked = MSS;
	bbr->CongControl(state, {}, sample);
	CheckEqual("window, segments", state->m_cWnd.Get() / MSS, WINDOW_SEGMENTS + 1);
}

// A segment each 10 ms, and an acknowledgment for two: after 12, 45 and 65 ms. The last one is of a
// segment sent at 50 ms, when those sent until 30 ms had been delivered: two segments in 20 ms.
void RateOfPairs()
{
	auto rate = CreateObject<DeliveryRate>();
	auto buffer = CreateObject<SentBytes>(1);
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
			sample.m_delivered = static_cast<int32_t>(rate_bps / 8 * 264 / 1000);
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
		  0.99 * full_bps, 1e-6);
}

// The queue is empty all the time, so that each round trip is as short as the first one: the round
// trip is probed after ten seconds all the same.
void BbrIsNotPutOff()
{
	auto state = FullWindow();
	auto bbr = CreateObject<Bbr>();
	state->m_lastRtt = MilliSeconds(100);
	bbr->CongestionStateSet(state, TcpSocketState::CA_OPEN);
	TcpRateOps::TcpRateConnection connection;
	TcpRateOps::TcpRateSample sample;
	sample.m_interval = MilliSeconds(100);
	sample.m_deliveryRate = DataRate(100'000'000);
	sample.m_delivered = sample.m_ackedSacked = 100 * MSS;
	double probed_at_s = 0;
	for (int64_t round = 1; round <= 120; ++round)
		Simulator::Schedule(MilliSeconds(100 * round), [&] {
			sample.m_priorDelivered = static_cast<uint32_t>(connection.m_delivered);
			connection.m_delivered += 100 * MSS;
			state->m_bytesInFlight = 100 * MSS;
			bbr->CongControl(state, connection, sample);
			if (probed_at_s == 0 && state->m_cWnd == 4 * MSS)
				probed_at_s = Simulator::Now().GetSeconds();
		});
	Simulator::Run();
	Simulator::Destroy();
	CheckNear("PROBE_RTT, s", probed_at_s, 10.1, 1e-9);
	CheckEqual("round trip as before, ms",
		   static_cast<uint64_t>(state->m_lastRtt.Get().GetMilliSeconds()), 100);
}

// A segment is acknowledged each millisecond after 40 ms: the product is 40 segments. The window is
// two of it, one that is acknowledged together with another's millisecond, three bursts of two, and
// even.
void BbrHasRoomForBursts()
{
	auto state = FullWindow();
	auto bbr = CreateObject<Bbr>();
	state->m_lastRtt = MilliSeconds(40);
	bbr->CongestionStateSet(state, TcpSocketState::CA_OPEN);
	TcpRateOps::TcpRateConnection connection;
	TcpRateOps::TcpRateSample sample;
	sample.m_interval = MilliSeconds(40);
	sample.m_delivered = 40 * MSS;
	sample.m_deliveryRate = DataRate(uint64_t{1000} * MSS * 8);
	sample.m_ackedSacked = MSS;
	sample.m_priorInFlight = 60 * MSS;
	state->m_bytesInFlight = 40 * MSS;
	uint32_t least = UINT32_MAX;
	for (uint32_t ms = 1; ms <= 3000; ++ms)
		Simulator::Schedule(MilliSeconds(ms), [&, ms] {
			connection.m_delivered += MSS;
			sample.m_priorDelivered = ms > 40 ? (ms - 40) * MSS : 0;
			bbr->CongControl(state, connection, sample);
			if (ms > 2000)
				least = std::min(least, state->m_cWnd.Get() / MSS);
		});
	Simulator::Run();
	Simulator::Destroy();
	CheckEqual("window, segments", least, 88);
}

} // namespace

int main(int argc, char **argv)
{
	return RunTest(argc, argv,
		       {{"bbr-after-timeouts", BbrAfterTimeouts},
			{"bbr-probes-the-round-trip", BbrProbesTheRoundTrip},
			{"bbr-is-not-put-off", BbrIsNotPutOff},
			{"bbr-has-room-for-bursts", BbrHasRoomForBursts},
			{"rate-of-pairs", RateOfPairs}});
}
