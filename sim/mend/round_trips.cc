// What a socket knows of its round trips (socket.h): which segment was sent when, what an
// acknowledgment measures, and the timeout of that.
#include "mend/deviation.h"
#include "mend/send_buffer.h"
#include "mend/socket.h"

#include <ns3/simulator.h>
#include <ns3/tcp-congestion-ops.h>
#include <ns3/tcp-option-sack.h>
#include <ns3/tcp-option-ts.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

void TcpSocket::UpdateRttHistory(const SequenceNumber32 &seq, uint32_t sz, bool isRetransmission)
{
	if (!isRetransmission) {
		m_history.emplace_back(seq, sz, Simulator::Now());
		if (MayProbe())
			StartTimer(TimeoutOfHead()); // RFC 8985 section 7.2: the end has moved
		return;
	}
	++retransmitted_segments_;
	if (seq == m_txBuffer->HeadSequence()) {
		RestartTimer(); // the head's repair takes a round trip from now on
		head_again_at_ = Simulator::Now();
	}
	auto before = [](const RttHistory &sent, const SequenceNumber32 &value) {
		return sent.seq < value;
	};
	for (auto sent = std::lower_bound(m_history.begin(), m_history.end(), seq, before);
	     sent != m_history.end() && sent->seq < seq + sz; ++sent)
		sent->retx = true;
}

void TcpSocket::EstimateRtt(const TcpHeader &tcpHeader)
{
	SequenceNumber32 acknowledged = tcpHeader.GetAckNumber();
	// What was sacked before has been here before: its acknowledgment measures the repair of
	// the hole below it.
	bool holes_filled = Sending().GetSacked() > 0;
	const bool advanced = acknowledged > m_txBuffer->HeadSequence();
	Time round_trip;
	while (!m_history.empty()) {
		const RttHistory &sent = m_history.front();
		if (sent.seq + sent.count > acknowledged)
			break;
		if (!sent.retx && !holes_filled)
			round_trip = Simulator::Now() - sent.time;
		m_history.pop_front();
	}
	const bool sacked = !round_trip.IsStrictlyPositive();
	if (sacked)
		round_trip = RoundTripOfSacked(tcpHeader);
	if (!round_trip.IsStrictlyPositive()) {
		if (advanced)
			MeasureByTimestamp(tcpHeader);
		return;
	}
	Smoothed().Measure(round_trip, m_minRto);
	m_rto = Timeout();
	// What was sent before the head's repair still arrives: the repair is behind it (Linux,
	// tcp_clean_rtx_queue).
	if (sacked && Simulator::Now() - round_trip < head_again_at_)
		RestartTimer();
	m_tcb->m_lastRtt = round_trip;
	m_tcb->m_minRtt = std::min(round_trip, m_tcb->m_minRtt);
}

// What was sent more than once tells by the timestamp that comes back (RFC 7323 section 4), in
// milliseconds: good enough for the timeout, and too coarse for congestion controls, but for one
// that takes rate samples, BBR: that Linux's takes such round trips for shorter ones puts off some
// of its PROBE_RTTs (docs/ns3/17-probe-rtt.md). Without it a timeout that is too short would never
// learn so.
void TcpSocket::MeasureByTimestamp(const TcpHeader &header)
{
	if (!m_timestampEnabled || !header.HasOption(TcpOption::TS))
		return;
	const auto stamp = DynamicCast<const TcpOptionTS>(header.GetOption(TcpOption::TS));
	const Time round_trip =
	    Max(TcpOptionTS::ElapsedTimeFromTsValue(stamp->GetEcho()), MilliSeconds(1));
	Smoothed().Measure(round_trip, m_minRto);
	m_rto = Timeout();
	if (m_congestionControl->HasCongControl())
		m_tcb->m_lastRtt = round_trip;
}

// While a hole is open, what the newest SACK block adds is measured, as Linux does
// (tcp_sacktag_one): else the timeout would not know of a queue that grows meanwhile. Zero: nothing
// that was sent once.
Time TcpSocket::RoundTripOfSacked(const TcpHeader &header)
{
	if (!header.HasOption(TcpOption::SACK))
		return {};
	const auto list =
	    DynamicCast<const TcpOptionSack>(header.GetOption(TcpOption::SACK))->GetSackList();
	if (list.empty())
		return {};
	const auto [left, right] = list.front(); // RFC 2018 section 4: the one that tells the news
	const auto before = [](const RttHistory &sent, const SequenceNumber32 &value) {
		return sent.seq < value;
	};
	Time round_trip;
	auto sent = std::lower_bound(m_history.begin(), m_history.end(), right, before);
	while (sent != m_history.begin() && !(--sent)->retx && sent->seq >= left) {
		round_trip = Simulator::Now() - sent->time;
		sent->retx = true; // measured: not once more
	}
	return round_trip;
}

Time TcpSocket::Timeout() const
{
	return m_rtt->GetEstimate() + Max(m_clockGranularity, Smoothed().Margin());
}

// What is sent puts off the probe, but not beyond the timeout, which is counted from when the
// oldest segment was sent (Linux, tcp_schedule_loss_probe).
Time TcpSocket::TimeoutOfHead() const
{
	if (m_history.empty())
		return m_rto;
	return Max(m_history.front().time + m_rto.Get() - Simulator::Now(), m_clockGranularity);
}

// AttachTcpSocket makes it.
Deviation &TcpSocket::Smoothed() const
{
	return *static_cast<Deviation *>(PeekPointer(m_rtt));
}

} // namespace landspeed
