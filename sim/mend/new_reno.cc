#include "mend/new_reno.h"

#include <ns3/tcp-socket-state.h>

#include <cmath>

using namespace ns3;

namespace landspeed
{

NS_OBJECT_ENSURE_REGISTERED(NewReno);

void NewReno::CongestionAvoidance(Ptr<TcpSocketState> tcb, uint32_t segmentsAcked)
{
	if (segmentsAcked == 0)
		return;
	const double segment_bytes = tcb->m_segmentSize;
	credit_bytes_ += segment_bytes * segment_bytes / tcb->m_cWnd.Get();
	const double whole_bytes = std::floor(credit_bytes_);
	tcb->m_cWnd += static_cast<uint32_t>(whole_bytes);
	credit_bytes_ -= whole_bytes;
}

} // namespace landspeed
