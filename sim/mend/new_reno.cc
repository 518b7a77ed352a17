// ns3::TcpNewReno's congestion avoidance, written anew: a segment for each window acknowledged (RFC
// 5681 section 3.1), also where that is less than a byte for each segment. The library adds at
// least one byte, so that windows above the square of the segment size grow too fast; Westwood+ and
// Vegas fall back on it. docs/ns3/11-controls.md.
//
// What is defined here takes precedence over the shared library's, as in tx_buffer.cc: a class of
// the library that calls it by name gets it, too.

#include "mend/side_table.h"

#include <ns3/tcp-congestion-ops.h>
#include <ns3/tcp-socket-state.h>

#include <cmath>

namespace ns3
{

void TcpNewReno::CongestionAvoidance(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	// Parts of a byte that the window has grown by. What a socket that is gone leaves here is
	// less than one.
	static landspeed::SideTable<TcpNewReno, double> credits;
	if (segmentsAcked == 0)
		return;
	const double segment_bytes = tcb->m_segmentSize;
	double &credit = credits.Of(this);
	credit += segment_bytes * segment_bytes / tcb->m_cWnd.Get();
	const double whole = std::floor(credit);
	tcb->m_cWnd += static_cast<uint32_t>(whole);
	credit -= whole;
}

} // namespace ns3
