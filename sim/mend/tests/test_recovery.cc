// Proportional Rate Reduction (RFC 9937): at a window of 10 Gbit/s × 264 ms, and while
// retransmissions are lost.

#include "mend/tests/check.h"

#include <ns3/tcp-prr-recovery.h>
#include <ns3/tcp-socket-state.h>

#include <algorithm>

#ifdef LANDSPEED_MENDED
#include "mend/prr.h"
using Recovery = landspeed::PrrRecovery;
#else
using Recovery = ns3::TcpPrrRecovery;
#endif

using namespace ns3;

namespace
{

constexpr uint32_t MSS = 8948;

// A sender in recovery: what the window allows is sent at once.
struct Sender {
	Ptr<TcpSocketState> state = CreateObject<TcpSocketState>();
	Ptr<Recovery> recovery = CreateObject<Recovery>();
	uint32_t pipe = 0; // bytes
	uint32_t sent = 0; // segments

	// With three segments sacked, of `window` that were in flight.
	void Enter(uint32_t window, uint32_t threshold, uint32_t in_flight)
	{
		state->m_segmentSize = MSS;
		state->m_ssThresh = threshold * MSS;
		state->m_bytesInFlight = pipe = in_flight * MSS;
		recovery->EnterRecovery(state, 3, window * MSS, 3 * MSS);
		Send();
	}

	// One more is sacked, and so many have left the flight.
	void Acknowledge(uint32_t gone)
	{
		pipe -= std::min(pipe, gone * MSS);
		state->m_bytesInFlight = pipe;
		Reduce(MSS);
	}

	// The first acknowledgment that echoes a mark, of two segments: ns-3's socket asks twice.
	void Mark(uint32_t window, uint32_t threshold)
	{
		state->m_segmentSize = MSS;
		state->m_ssThresh = threshold * MSS;
		state->m_congState = TcpSocketState::CA_CWR;
		state->m_bytesInFlight = pipe = (window - 2) * MSS;
		recovery->EnterRecovery(state, 0, (window - 2) * MSS, 2 * MSS);
		Reduce(2 * MSS);
	}

	void Reduce(uint32_t delivered_bytes)
	{
#ifdef NS3_TELLS_MORE
		recovery->DoRecovery(state, delivered_bytes, true);
#else
		recovery->DoRecovery(state, delivered_bytes);
#endif
		Send();
	}

	void Send()
	{
		while (state->m_cWnd >= pipe + MSS) {
			pipe += MSS;
			++sent;
			recovery->UpdateBytesSent(MSS);
		}
		state->m_bytesInFlight = pipe;
	}
};

// One of `window` segments is lost; each acknowledgment sacks one more. Half of the window shall be
// sent in the round trip, spread evenly.
void Reduction(uint32_t window)
{
	Sender sender;
	uint32_t at_half = 0;
	sender.Enter(window, window / 2, window - 4); // three sacked, one lost
	for (uint32_t acknowledged = 4; acknowledged < window; ++acknowledged) {
		sender.Acknowledge(1);
		if (acknowledged == window / 2)
			at_half = sender.sent;
	}
	CheckNear("segments sent by half of the round trip", at_half, window / 4.0, 0.01);
	CheckNear("segments sent in the round trip", sender.sent, window / 2.0, 0.01);
	CheckNear("in flight at its end", sender.pipe / MSS, window / 2.0, 0.01);
}

// At the threshold each acknowledgment sacks one segment and shows that one sent again is lost:
// half of what is sent does not arrive, for as long as two are sent for one that does. One shall
// be, so that less and less is in flight.
void Losing()
{
	constexpr uint32_t threshold = 12;
	Sender sender;
	sender.Enter(2 * threshold, threshold, threshold);
	for (uint32_t acknowledged = 0; acknowledged < threshold; ++acknowledged)
		sender.Acknowledge(2);
	// Three and then a threshold of them have arrived, and as many were sent.
	CheckNear("in flight when as many as the threshold were lost again", sender.pipe / MSS, 3,
		  0.01);
}

// A mark halves the window: of the two segments that left one is sent again, so that the queue
// begins to fall at once. The segment that says so (CWR) would else be marked as those before it.
void Marked()
{
	Sender sender;
	sender.Mark(20, 9); // so few that 32 bits hold them
	CheckNear("segments sent for the two that the mark's echo acknowledged", sender.sent, 1,
		  0.01);
}

} // namespace

int main(int argc, char **argv)
{
	return RunTest(
	    argc, argv,
	    {{"reduction", [] { Reduction(40'000); }}, {"losing", Losing}, {"marked", Marked}});
}
