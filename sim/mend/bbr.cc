#include "mend/bbr.h"

#include "mend/burst.h"

#include <ns3/simulator.h>
#include <ns3/tcp-socket-state.h>

#include <algorithm>

using namespace ns3;

namespace landspeed
{

namespace
{

constexpr uint64_t ONE = 256; // a gain of 1: BBR_UNIT
constexpr uint64_t HIGH_GAIN = ONE * 2885 / 1000 + 1;
constexpr uint64_t DRAIN_GAIN = ONE * 1000 / 2885;
constexpr uint64_t WINDOW_GAIN = ONE * 2;
constexpr std::array<uint64_t, 8> PHASE_GAINS = {ONE * 5 / 4, ONE * 3 / 4, ONE, ONE,
						 ONE,         ONE,         ONE, ONE};
constexpr uint32_t FIRST_PHASES = 7;      // bbr_cycle_rand: all but that of 3/4
constexpr uint32_t BANDWIDTH_ROUNDS = 10; // bbr_bw_rtts
constexpr uint64_t PACED_PERCENT = 99;    // bbr_pacing_margin_percent is 1
constexpr uint32_t SHORTEST_FOR_S = 10;   // bbr_min_rtt_win_sec
constexpr uint32_t PROBED_FOR_MS = 200;   // bbr_probe_rtt_mode_ms
constexpr uint64_t FEWEST = 4;            // bbr_cwnd_min_target
constexpr uint64_t FIRST_WINDOW = 10;     // TCP_INIT_CWND
constexpr uint32_t FULL_ROUNDS = 3;       // bbr_full_bw_cnt
constexpr uint32_t AGGREGATED_ROUNDS = 5; // bbr_extra_acked_win_rtts
constexpr uint64_t MOST_AGGREGATED_US = 100'000;
constexpr uint64_t MOST_OF_AN_EPOCH = uint64_t{1} << 20;

// Bytes a second, paced a little below.
uint64_t RateOf(uint64_t bandwidth, uint64_t gain, uint64_t segment_bytes)
{
	const uint64_t rate = (bandwidth * segment_bytes * gain / ONE) * (10'000 * PACED_PERCENT);
	return rate / BANDWIDTH_UNIT;
}

} // namespace

NS_OBJECT_ENSURE_REGISTERED(Bbr);

Bbr::Bbr() : greatest_(BANDWIDTH_ROUNDS, 0, 0), random_(CreateObject<UniformRandomVariable>())
{
	random_->SetAttribute("Max", DoubleValue(FIRST_PHASES));
}

// The window before a loss, a timeout or PROBE_RTT.
void Bbr::save_window(const TcpSocketState &tcb)
{
	const uint64_t window = tcb.m_cWnd.Get() / tcb.m_segmentSize;
	const bool good = state_before_ < TcpSocketState::CA_RECOVERY && mode_ != Mode::PROBE_RTT;
	window_before_ = good ? window : std::max(window_before_, window);
}

uint32_t Bbr::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t)
{
	save_window(*tcb);
	return tcb->m_ssThresh;
}

void Bbr::CongestionStateSet(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCongState_t newState)
{
	if (newState == TcpSocketState::CA_OPEN && !begun_)
		begin(*tcb);
	if (newState != TcpSocketState::CA_LOSS)
		return;
	state_before_ = TcpSocketState::CA_LOSS;
	full_bandwidth_ = 0;
	round_starts_ = true;
	long_term_.Sample(counts_, true, false, true, false, tcb->m_segmentSize);
}

void Bbr::CwndEvent(Ptr<TcpSocketState> tcb, const TcpSocketState::TcpCAEvent_t event)
{
	if (event != TcpSocketState::CA_EVENT_TX_START || !limited_)
		return;
	restarts_ = true;
	epoch_from_ = Simulator::Now();
	epoch_acknowledged_ = 0;
	if (mode_ == Mode::PROBE_BW)
		set_pacing_rate(*tcb, ONE);
	else if (mode_ == Mode::PROBE_RTT)
		look_whether_probed(*tcb);
}

void Bbr::begin(TcpSocketState &tcb)
{
	begun_ = true;
	tcb.m_pacing = true;
	epoch_from_ = renewed_at_ = Simulator::Now();
	if (tcb.m_lastRtt.Get().IsStrictlyPositive())
		shortest_ = tcb.m_lastRtt;
	begin_pacing(tcb);
}

// bbr_init_pacing_rate_from_rtt.
void Bbr::begin_pacing(TcpSocketState &tcb)
{
	seen_round_trip_ = shortest_ != Time::Max();
	const Time round_trip = seen_round_trip_ ? shortest_ : MilliSeconds(1);
	const auto us = static_cast<uint64_t>(std::max<int64_t>(round_trip.GetMicroSeconds(), 1));
	const uint64_t window = tcb.m_cWnd.Get() / tcb.m_segmentSize;
	const uint64_t rate = RateOf(window * BANDWIDTH_UNIT / us, HIGH_GAIN, tcb.m_segmentSize);
	tcb.m_pacingRate = std::min(DataRate(rate * 8), tcb.m_maxPacingRate);
}

uint64_t Bbr::bandwidth() const
{
	return long_term_.IsUsed() ? long_term_.Bandwidth() : greatest_.GetBest();
}

// bbr_bdp, in segments.
uint64_t Bbr::product(uint64_t bandwidth, uint64_t gain) const
{
	if (shortest_ == Time::Max())
		return FIRST_WINDOW;
	const uint64_t product = bandwidth * static_cast<uint64_t>(shortest_.GetMicroSeconds());
	return (product * gain / ONE + BANDWIDTH_UNIT - 1) / BANDWIDTH_UNIT;
}

// bbr_quantization_budget: room for bursts at the sender, the receiver, and between.
uint64_t Bbr::with_bursts(const TcpSocketState &tcb, uint64_t segments) const
{
	const uint64_t window = (segments + 3 * uint64_t{BurstSegments(tcb)} + 1) & ~uint64_t{1};
	return mode_ == Mode::PROBE_BW && phase_ == 0 ? window + 2 : window;
}

uint64_t Bbr::in_flight(const TcpSocketState &tcb, uint64_t gain) const
{
	return with_bursts(tcb, product(greatest_.GetBest(), gain));
}

Bbr::Sample Bbr::sample_of(const TcpSocketState &tcb, const TcpRateOps::TcpRateConnection &rc,
			   const TcpRateOps::TcpRateSample &rs)
{
	const uint64_t segment = tcb.m_segmentSize;
	// What had been delivered when the segment was sent, of which the sample has 32 bits.
	prior_delivered_bytes_ =
	    rc.m_delivered - (static_cast<uint32_t>(rc.m_delivered) - rs.m_priorDelivered);
	limited_ = rc.m_appLimited > 0;
	Sample sample;
	sample.delivered_bytes = rc.m_delivered;
	sample.acknowledged = rs.m_ackedSacked / segment;
	sample.lost = rs.m_bytesLoss / segment;
	sample.in_flight_before = rs.m_priorInFlight / segment;
	sample.in_flight = tcb.m_bytesInFlight.Get() / segment;
	sample.limited = rs.m_isAppLimited ||
			 (few_until_bytes_ > 0 && prior_delivered_bytes_ >= few_from_bytes_ &&
			  prior_delivered_bytes_ <= few_until_bytes_);
	const int64_t us = rs.m_interval.GetMicroSeconds();
	sample.known = rs.m_delivered >= 0 && us > 0;
	if (sample.known)
		sample.bandwidth = static_cast<uint64_t>(rs.m_delivered) * BANDWIDTH_UNIT /
				   (segment * static_cast<uint64_t>(us));
	counts_.delivered = rc.m_delivered / segment;
	counts_.lost += sample.lost;
	return sample;
}

// bbr_main.
void Bbr::CongControl(Ptr<TcpSocketState> tcb, const TcpRateOps::TcpRateConnection &rc,
		      const TcpRateOps::TcpRateSample &rs)
{
	const Sample sample = sample_of(*tcb, rc, rs);
	measure_bandwidth(*tcb, sample);
	measure_aggregation(*tcb, sample);
	look_for_next_phase(*tcb, sample);
	look_whether_full(sample);
	look_whether_drained(*tcb, sample);
	measure_round_trip(*tcb, sample);
	choose_gains();
	set_pacing_rate(*tcb, pacing_gain_);
	set_window(*tcb, sample);
}

void Bbr::measure_bandwidth(const TcpSocketState &tcb, const Sample &sample)
{
	round_starts_ = false;
	if (!sample.known)
		return;
	if (prior_delivered_bytes_ >= round_ends_bytes_) {
		round_ends_bytes_ = sample.delivered_bytes;
		++round_;
		round_starts_ = true;
		conserves_ = false;
	}
	if (long_term_.Sample(counts_, sample.lost > 0, sample.limited, round_starts_,
			      mode_ == Mode::PROBE_BW, tcb.m_segmentSize))
		begin_phases();
	if (!sample.limited || sample.bandwidth >= greatest_.GetBest())
		greatest_.Update(sample.bandwidth, round_);
}

// bbr_update_ack_aggregation: what is acknowledged beyond the bandwidth, for which the window makes
// room.
void Bbr::measure_aggregation(const TcpSocketState &tcb, const Sample &sample)
{
	if (sample.acknowledged == 0 || !sample.known)
		return;
	if (round_starts_ && ++aggregated_rounds_ >= AGGREGATED_ROUNDS) {
		aggregated_rounds_ = 0;
		aggregated_place_ ^= 1;
		aggregated_[aggregated_place_] = 0;
	}
	const auto us = static_cast<uint64_t>((Simulator::Now() - epoch_from_).GetMicroSeconds());
	uint64_t expected = bandwidth() * us / BANDWIDTH_UNIT;
	const bool long_enough = epoch_acknowledged_ + sample.acknowledged >= MOST_OF_AN_EPOCH;
	if (epoch_acknowledged_ <= expected || long_enough) {
		epoch_acknowledged_ = 0;
		epoch_from_ = Simulator::Now();
		expected = 0;
	}
	epoch_acknowledged_ =
	    std::min(MOST_OF_AN_EPOCH - 1, epoch_acknowledged_ + sample.acknowledged);
	const uint64_t window = tcb.m_cWnd.Get() / tcb.m_segmentSize;
	uint64_t &greatest = aggregated_[aggregated_place_];
	greatest = std::max(greatest, std::min(epoch_acknowledged_ - expected, window));
}

// bbr_update_cycle_phase. What waits for its time to be paced is not in flight here, other than in
// Linux (bbr_packets_in_net_at_edt).
void Bbr::look_for_next_phase(const TcpSocketState &tcb, const Sample &sample)
{
	if (mode_ != Mode::PROBE_BW)
		return;
	const bool whole = Simulator::Now() - phase_from_ > shortest_;
	bool ends = whole;
	if (pacing_gain_ > ONE)
		ends = whole && (sample.lost > 0 || sample.in_flight_before + BurstSegments(tcb) >=
							in_flight(tcb, pacing_gain_));
	else if (pacing_gain_ < ONE)
		ends = whole || sample.in_flight_before <= in_flight(tcb, ONE);
	if (ends)
		advance_phase();
}

void Bbr::advance_phase()
{
	phase_ = (phase_ + 1) % PHASE_GAINS.size();
	phase_from_ = Simulator::Now();
}

void Bbr::begin_phases()
{
	mode_ = Mode::PROBE_BW;
	phase_ = PHASE_GAINS.size() - 1 - static_cast<uint32_t>(random_->GetValue());
	advance_phase();
}

void Bbr::look_whether_full(const Sample &sample)
{
	if (full_ || !round_starts_ || sample.limited)
		return;
	if (greatest_.GetBest() >= full_bandwidth_ * 5 / 4) {
		full_bandwidth_ = greatest_.GetBest();
		full_rounds_ = 0;
		return;
	}
	full_ = ++full_rounds_ >= FULL_ROUNDS;
}

void Bbr::look_whether_drained(TcpSocketState &tcb, const Sample &sample)
{
	if (mode_ == Mode::STARTUP && full_) {
		mode_ = Mode::DRAIN;
		tcb.m_ssThresh = static_cast<uint32_t>(in_flight(tcb, ONE) * tcb.m_segmentSize);
	}
	if (mode_ == Mode::DRAIN && sample.in_flight <= in_flight(tcb, ONE))
		begin_phases();
}

// bbr_update_min_rtt.
void Bbr::measure_round_trip(TcpSocketState &tcb, const Sample &sample)
{
	const Time now = Simulator::Now(), round_trip = tcb.m_lastRtt;
	const bool expired = now > renewed_at_ + Seconds(SHORTEST_FOR_S);
	// With `<=`, which is ns-3's, a path whose queue is empty now and then is never probed:
	// each such round trip is the shortest to the nanosecond.
	if (round_trip.IsStrictlyPositive() && (round_trip < shortest_ || expired)) {
		shortest_ = round_trip;
		renewed_at_ = now;
	}
	if (expired && !restarts_ && mode_ != Mode::PROBE_RTT) {
		save_window(tcb);
		mode_ = Mode::PROBE_RTT;
		probed_at_ = Time();
	}
	if (mode_ == Mode::PROBE_RTT) {
		if (sample.delivered_bytes > few_until_bytes_)
			few_from_bytes_ = sample.delivered_bytes;
		few_until_bytes_ =
		    sample.delivered_bytes + std::max<uint64_t>(tcb.m_bytesInFlight.Get(), 1);
		if (probed_at_.IsZero() && sample.in_flight <= FEWEST) {
			probed_at_ = now + MilliSeconds(PROBED_FOR_MS);
			probed_a_round_ = false;
			round_ends_bytes_ = sample.delivered_bytes;
		} else if (!probed_at_.IsZero()) {
			probed_a_round_ |= round_starts_;
			if (probed_a_round_)
				look_whether_probed(tcb);
		}
	}
	restarts_ = restarts_ && !sample.known;
}

void Bbr::look_whether_probed(TcpSocketState &tcb)
{
	if (probed_at_.IsZero() || Simulator::Now() <= probed_at_)
		return;
	renewed_at_ = Simulator::Now();
	const uint64_t window =
	    std::max<uint64_t>(tcb.m_cWnd.Get() / tcb.m_segmentSize, window_before_);
	tcb.m_cWnd = static_cast<uint32_t>(window * tcb.m_segmentSize);
	if (full_)
		begin_phases();
	else
		mode_ = Mode::STARTUP;
}

void Bbr::choose_gains()
{
	const bool early = mode_ == Mode::STARTUP || mode_ == Mode::DRAIN;
	const bool probes = mode_ == Mode::PROBE_BW;
	window_gain_ = early ? HIGH_GAIN : probes ? WINDOW_GAIN : ONE;
	pacing_gain_ = probes && !long_term_.IsUsed() ? PHASE_GAINS[phase_] : ONE;
	if (early)
		pacing_gain_ = mode_ == Mode::STARTUP ? HIGH_GAIN : DRAIN_GAIN;
}

void Bbr::set_pacing_rate(TcpSocketState &tcb, uint64_t gain)
{
	if (!seen_round_trip_ && shortest_ != Time::Max())
		begin_pacing(tcb);
	const uint64_t bytes = RateOf(bandwidth(), gain, tcb.m_segmentSize);
	const DataRate rate = std::min(DataRate(bytes * 8), tcb.m_maxPacingRate);
	if (full_ || rate > tcb.m_pacingRate)
		tcb.m_pacingRate = rate;
}

// bbr_set_cwnd_to_recover_or_restore. True: `window` is what the recovery wants.
bool Bbr::repairs(const TcpSocketState &tcb, const Sample &sample, uint64_t &window)
{
	const auto before = state_before_, state = tcb.m_congState.Get();
	window = std::max<uint64_t>(window - std::min(window, sample.lost), 1);
	if (state == TcpSocketState::CA_RECOVERY && before != TcpSocketState::CA_RECOVERY) {
		conserves_ = true;
		round_ends_bytes_ = sample.delivered_bytes;
		window = sample.in_flight + sample.acknowledged;
	} else if (before >= TcpSocketState::CA_RECOVERY && state < TcpSocketState::CA_RECOVERY) {
		window = std::max(window, window_before_);
		conserves_ = false;
	}
	state_before_ = state;
	if (conserves_)
		window = std::max(window, sample.in_flight + sample.acknowledged);
	return conserves_;
}

void Bbr::set_window(TcpSocketState &tcb, const Sample &sample)
{
	uint64_t window = tcb.m_cWnd.Get() / tcb.m_segmentSize;
	if (sample.acknowledged > 0 && !repairs(tcb, sample, window)) {
		uint64_t aggregated = 0;
		if (full_)
			aggregated = std::min(std::max(aggregated_[0], aggregated_[1]),
					      bandwidth() * MOST_AGGREGATED_US / BANDWIDTH_UNIT);
		const uint64_t target =
		    with_bursts(tcb, product(bandwidth(), window_gain_) + aggregated);
		if (full_)
			window = std::min(window + sample.acknowledged, target);
		else if (window < target || counts_.delivered < FIRST_WINDOW)
			window += sample.acknowledged;
		window = std::max(window, FEWEST);
	}
	if (mode_ == Mode::PROBE_RTT)
		window = std::min(window, FEWEST);
	tcb.m_cWnd = static_cast<uint32_t>(window * tcb.m_segmentSize);
}

} // namespace landspeed
