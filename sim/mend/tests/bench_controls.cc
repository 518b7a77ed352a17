// Each congestion control on a long path, with the mends: bench_controls [NAME…]. Prints one JSON
// line for each:
//
// growth_segments   what a window of 40 000 segments grows by in one round trip of avoidance (264
// ms, no queue) kept              share of that window that is left after a loss before, after, end
// windows, segments, on 100 Mbit/s × 264 ms (366 segments) with a queue of as much: before the loss
// of
//                   one packet after 15 s, a second after, and after 60 s
// goodput_bps       of the last 30 of those 60 seconds
// timeouts          retransmission timeouts

#include "mend/tests/one_path.h"
#include "mend/validation.h"

#include <cstdio>

using namespace ns3;

namespace
{

constexpr uint32_t MSS = 8948;
constexpr uint32_t WINDOW_SEGMENTS = 40'000;
const Time RTT = MilliSeconds(264);

void Print(const std::string &name)
{
	landspeed::TcpSettings tcp;
	tcp.congestion_control = name;
	landspeed::SetTcpDefaults(tcp);
	auto state = CreateObject<TcpSocketState>();
	state->m_segmentSize = MSS;
	state->m_cWnd = WINDOW_SEGMENTS * MSS;
	state->m_ssThresh = state->m_cWnd.Get() / 2;
	state->m_lastRtt = RTT;
	state->m_minRtt = RTT;
	state->m_bytesInFlight = (WINDOW_SEGMENTS - 1) * MSS;
	state->m_lastAckedSackedBytes = MSS;
	auto control = CreateObject<landspeed::WindowValidation>();
	control->Init(state);
	double growth = 0;
	double kept = 0;
	if (!control->HasCongControl()) {
		// The round trip ends with the last acknowledgment.
		state->m_nextTxSequence = SequenceNumber32((WINDOW_SEGMENTS - 1) * MSS);
		control->CongestionStateSet(state, TcpSocketState::CA_OPEN);
		for (uint32_t acknowledged = 0; acknowledged < WINDOW_SEGMENTS; ++acknowledged) {
			state->m_bytesInFlight = state->m_cWnd - MSS;
			state->m_lastAckedSeq += MSS;
			control->PktsAcked(state, 1, RTT);
			control->IncreaseWindow(state, 1);
		}
		growth = static_cast<double>(state->m_cWnd) / MSS - WINDOW_SEGMENTS;
		kept =
		    static_cast<double>(control->GetSsThresh(state, state->m_cWnd)) / state->m_cWnd;
	}

	PathSettings settings;
	settings.congestion_control = name;
	settings.rate_bps = 100'000'000;
	settings.window_bytes = 2'000 * MSS;
	settings.queue_packets = 366;
	OnePath path(settings);
	path.Run(15);
	path.LoseNext();
	uint32_t before = path.Window() / MSS;
	path.Run(1);
	uint32_t after = path.Window() / MSS;
	path.Run(14);
	uint64_t received = path.Received();
	path.Run(30);
	auto figures = DynamicCast<landspeed::TcpSocket>(path.Sender())->Figures();
	std::printf(
	    "{\"control\": \"%s\", \"growth_segments\": %.1f, \"kept\": %.3f, \"before\": %u, "
	    "\"after\": %u, "
	    "\"end\": %u, \"goodput_bps\": %.0f, \"retransmits\": %llu, \"timeouts\": %llu}\n",
	    name.c_str(), growth, kept, before, after, path.Window() / MSS,
	    static_cast<double>(path.Received() - received) * 8 / 30,
	    static_cast<unsigned long long>(figures.retransmitted_segments),
	    static_cast<unsigned long long>(figures.retransmission_timeouts));
	std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv)
{
	std::vector<std::string> names(argv + 1, argv + argc);
	if (names.empty())
		names = landspeed::CongestionControls();
	for (const std::string &name : names)
		Print(name);
	return 0;
}
