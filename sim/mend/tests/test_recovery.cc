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

// One of `window` segments is lost; each acknowledgment sacks one more. Whatever the window allows
// is sent at once. Half of the window shall be sent in the round trip, spread evenly.
void Reduction(uint32_t window)
{
	auto state = CreateObject<TcpSocketState>();
	auto recovery = CreateObject<Recovery>();
	state->m_segmentSize = MSS;
	state->m_ssThresh = window / 2 * MSS;
	uint32_t pipe = (window - 4) * MSS; // three sacked, one lost
	uint32_t sent = 0;
	uint32_t at_half = 0;
	auto send = [&] {
		while (state->m_cWnd >= pipe + MSS) {
			pipe += MSS;
			++sent;
			recovery->UpdateBytesSent(MSS);
		}
		state->m_bytesInFlight = pipe;
	};
	state->m_bytesInFlight = pipe;
	recovery->EnterRecovery(state, 3, window * MSS, 3 * MSS);
	send();
	for (uint32_t acknowledged = 4; acknowledged < window; ++acknowledged) {
		pipe -= MSS;
		state->m_bytesInFlight = pipe;
#ifdef NS3_TELLS_MORE
		recovery->DoRecovery(state, MSS, true);
#else
		recovery->DoRecovery(state, MSS);
#endif
		send();
		if (acknowledged == window / 2)
			at_half = sent;
	}
	CheckNear("segments sent by half of the round trip", at_half, window / 4.0, 0.01);
	CheckNear("segments sent in the round trip", sent, window / 2.0, 0.01);
	CheckNear("in flight at its end", pipe / MSS, window / 2.0, 0.01);
}

// At the threshold each acknowledgment sacks one segment and shows that one sent again is lost:
// half of what is sent does not arrive, for as long as two are sent for one that does. One shall
// be, so that less and less is in flight.
void Losing()
{
	constexpr uint32_t threshold = 12;
	auto state = CreateObject<TcpSocketState>();
	auto recovery = CreateObject<Recovery>();
	state->m_segmentSize = MSS;
	state->m_ssThresh = threshold * MSS;
	uint32_t pipe = threshold * MSS;
	auto send = [&] {
		while (state->m_cWnd >= pipe + MSS) {
			pipe += MSS;
			recovery->UpdateBytesSent(MSS);
		}
		state->m_bytesInFlight = pipe;
	};
	state->m_bytesInFlight = pipe;
	recovery->EnterRecovery(state, 3, 2 * threshold * MSS, 3 * MSS);
	send();
	for (uint32_t acknowledged = 0; acknowledged < threshold; ++acknowledged) {
		pipe -= std::min(pipe, 2 * MSS);
		state->m_bytesInFlight = pipe;
#ifdef NS3_TELLS_MORE
		recovery->DoRecovery(state, MSS, true);
#else
		recovery->DoRecovery(state, MSS);
#endif
		send();
	}
	// Three and then a threshold of them have arrived, and as many were sent.
	CheckNear("in flight when as many as the threshold were lost again", pipe / MSS, 3, 0.01);
}

} // namespace

int main(int argc, char **argv)
{
	return RunTest(argc, argv, {{"reduction", [] { Reduction(40'000); }}, {"losing", Losing}});
}
