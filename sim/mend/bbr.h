// BBR, version 1, as Linux has it (net/ipv4/tcp_bbr.c, 6.12). ns-3's is of the draft of 2017 and
// lacks what makes its shares beside others. docs/ns3/17-probe-rtt.md.
#pragma once

#include "mend/control.h"
#include "mend/long_term.h"

#include <ns3/nstime.h>
#include <ns3/random-variable-stream.h>
#include <ns3/windowed-filter.h>

#include <array>
#include <cstdint>

namespace landspeed
{

// BBR (Cardwell et al., ACM Queue 2016). Counts are of whole segments and bandwidths of 2^-24
// segments a microsecond, in integers, as in Linux: on a short path what is rounded is a part of
// the window that shows.
class Bbr : public Control<Bbr>
{
public:
	static constexpr auto TYPE = "Bbr", NAME = "BBR";

	Bbr();

	bool HasCongControl() const override
	{
		return true;
	}

	uint32_t GetSsThresh(ConstTcb tcb, uint32_t bytesInFlight) override;
	void CongestionStateSet(Tcb tcb,
				const ns3::TcpSocketState::TcpCongState_t newState) override;
	void CwndEvent(Tcb tcb, const ns3::TcpSocketState::TcpCAEvent_t event) override;
	void CongControl(Tcb tcb, const ns3::TcpRateOps::TcpRateConnection &rc,
			 const ns3::TcpRateOps::TcpRateSample &rs) override;

private:
	enum class Mode { STARTUP, DRAIN, PROBE_BW, PROBE_RTT };

	// An acknowledgment, in segments.
	struct Sample {
		uint64_t delivered_bytes = 0; // since the beginning
		uint64_t acknowledged = 0, lost = 0, in_flight_before = 0, in_flight = 0;
		uint64_t bandwidth = 0;
		bool known = false;   // the bandwidth
		bool limited = false; // by the application, or by PROBE_RTT
	};

	Sample sample_of(const ns3::TcpSocketState &tcb,
			 const ns3::TcpRateOps::TcpRateConnection &rc,
			 const ns3::TcpRateOps::TcpRateSample &rs);
	void begin(ns3::TcpSocketState &tcb);
	void begin_pacing(ns3::TcpSocketState &tcb);

	void measure_bandwidth(const ns3::TcpSocketState &tcb, const Sample &sample);
	void measure_aggregation(const ns3::TcpSocketState &tcb, const Sample &sample);
	void measure_round_trip(ns3::TcpSocketState &tcb, const Sample &sample);
	void look_whether_full(const Sample &sample);
	void look_whether_drained(ns3::TcpSocketState &tcb, const Sample &sample);
	void look_whether_probed(ns3::TcpSocketState &tcb);
	void look_for_next_phase(const ns3::TcpSocketState &tcb, const Sample &sample);
	void advance_phase();
	void begin_phases();
	void choose_gains();
	void set_pacing_rate(ns3::TcpSocketState &tcb, uint64_t gain);
	void set_window(ns3::TcpSocketState &tcb, const Sample &sample);
	bool repairs(const ns3::TcpSocketState &tcb, const Sample &sample, uint64_t &window);
	void save_window(const ns3::TcpSocketState &tcb);

	uint64_t bandwidth() const;
	uint64_t product(uint64_t bandwidth, uint64_t gain) const;
	uint64_t with_bursts(const ns3::TcpSocketState &tcb, uint64_t segments) const;
	uint64_t in_flight(const ns3::TcpSocketState &tcb, uint64_t gain) const;

	using Greatest =
	    ns3::WindowedFilter<uint64_t, ns3::MaxFilter<uint64_t>, uint32_t, uint32_t>;

	Mode mode_ = Mode::STARTUP;
	bool begun_ = false;
	Greatest greatest_;
	LongTermBandwidth long_term_;
	LongTermBandwidth::Counts counts_;
	uint64_t pacing_gain_ = 0, window_gain_ = 0; // of 256
	uint32_t phase_ = 0;
	ns3::Time phase_from_;
	ns3::Ptr<ns3::UniformRandomVariable> random_;

	uint32_t round_ = 0;
	bool round_starts_ = false;
	uint64_t round_ends_bytes_ = 0;      // when what is sent from then on is delivered
	uint64_t prior_delivered_bytes_ = 0; // when the sample's segment was sent
	uint64_t few_from_bytes_ = 0, few_until_bytes_ = 0; // what PROBE_RTT limits

	uint64_t full_bandwidth_ = 0;
	uint32_t full_rounds_ = 0;
	bool full_ = false;

	ns3::Time shortest_ = ns3::Time::Max();
	ns3::Time renewed_at_;
	bool seen_round_trip_ = false;
	ns3::Time probed_at_; // the end of PROBE_RTT; 0: the queue is not yet drained
	bool probed_a_round_ = false;
	bool limited_ = false;  // by the application, at present
	bool restarts_ = false; // after having been idle

	ns3::TcpSocketState::TcpCongState_t state_before_ = ns3::TcpSocketState::CA_OPEN;
	bool conserves_ = false; // the first round trip of a recovery
	uint64_t window_before_ = 0;

	std::array<uint64_t, 2>
	    aggregated_{}; // the greatest of the last five and of this five round trips
	uint32_t aggregated_rounds_ = 0, aggregated_place_ = 0;
	ns3::Time epoch_from_;
	uint64_t epoch_acknowledged_ = 0;
};

} // namespace landspeed
