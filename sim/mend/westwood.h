// Westwood+ as Linux has it; ns-3's counts what a SACK delivered twice, and asks for the rate
// before the recovery instead of after it. docs/ns3/11-controls.md.
#pragma once

#include "mend/new_reno.h"

#include <ns3/nstime.h>

namespace landspeed
{

// TCP Westwood+ (Grieco and Mascolo 2004): a loss halves the window, as with Reno, and when it is
// repaired the window becomes what was delivered of late in the shortest round trip.
class Westwood : public Control<Westwood, NewReno>
{
public:
	static constexpr auto TYPE = "Westwood", NAME = "Westwood+";

	void PktsAcked(Tcb tcb, uint32_t segmentsAcked, const ns3::Time &rtt) override;
	uint32_t GetSsThresh(ConstTcb tcb, uint32_t bytesInFlight) override;
	void CwndEvent(Tcb tcb, const ns3::TcpSocketState::TcpCAEvent_t event) override;

private:
	void end_span(uint64_t now_ms);
	uint32_t delivered_in_a_round_trip(uint32_t segment_bytes) const;

	// Whole milliseconds and whole bytes in one, as in Linux: at a low rate its fractions are
	// missing from the window.
	uint64_t rate_once_ = 0, rate_ = 0; // filtered once and twice, bytes/ms
	uint64_t delivered_bytes_ = 0;      // in the present span, which began at:
	uint64_t span_from_ms_ = 0;
	uint64_t last_rtt_ms_ = 0; // 0: none yet
	uint64_t least_rtt_ms_ = 0;
};

} // namespace landspeed
