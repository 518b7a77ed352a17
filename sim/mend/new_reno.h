// The congestion avoidance that several controls fall back on. docs/ns3/11-controls.md.
#pragma once

#include "mend/control.h"

namespace landspeed
{

// Adds a segment for each window acknowledged (RFC 5681 section 3.1), also where that is less than
// a byte for each segment. ns-3's adds at least one byte, so that windows above the square of the
// segment size grow too fast.
class NewReno : public Control<NewReno, ns3::TcpNewReno>
{
public:
	static constexpr auto TYPE = "NewReno", NAME = "TcpNewReno";

protected:
	void CongestionAvoidance(Tcb tcb, uint32_t segmentsAcked) override;

private:
	double credit_bytes_ = 0; // the part of a byte that the window has grown by
};

} // namespace landspeed
