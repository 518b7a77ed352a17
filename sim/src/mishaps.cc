#include "mishaps.h"

#include <algorithm>

namespace landspeed
{

void Timeline::change(int64_t at_ns, int64_t end_ns, int64_t value)
{
	spans_.push_back({at_ns, end_ns, value});
}

void Timeline::follow(const Trace &trace, const std::vector<int64_t> &values)
{
	if (values.empty())
		return;
	times_ = trace.at_ns;
	values_ = values;
	lasts_ns_ = trace.loops ? trace.lasts_ns : INT64_MAX;
}

/// The place of the trace that is due begins.
void Timeline::next_place()
{
	base_ = values_[place_++];
	if (place_ < values_.size()) {
		place_ends_ns_ = turn_ns_ + times_[place_];
	} else if (lasts_ns_ != INT64_MAX) {
		place_ = 0;
		turn_ns_ += lasts_ns_;
		place_ends_ns_ = turn_ns_;
	} else {
		place_ends_ns_ = INT64_MAX;
	}
}

int64_t Timeline::least() const
{
	int64_t found = base_;
	for (const int64_t value : values_)
		found = std::min(found, value);
	for (const auto &span : spans_)
		found = std::min(found, span.value);
	return found;
}

int64_t Timeline::most() const
{
	int64_t found = base_;
	for (const int64_t value : values_)
		found = std::max(found, value);
	for (const auto &span : spans_)
		found = std::max(found, span.value);
	return found;
}

void Timeline::begin(int64_t start_ns)
{
	std::vector<int64_t> times;
	for (const auto &span : spans_) {
		times.push_back(span.at_ns);
		if (span.end_ns != INT64_MAX)
			times.push_back(span.end_ns);
	}
	std::sort(times.begin(), times.end());
	times.erase(std::unique(times.begin(), times.end()), times.end());
	for (const int64_t time : times) {
		const Span *rules = nullptr;
		for (const auto &span : spans_)
			if (span.at_ns <= time && time < span.end_ns &&
			    (rules == nullptr || span.at_ns >= rules->at_ns))
				rules = &span;
		steps_.push_back(
		    {start_ns + time, rules != nullptr ? rules->value : 0, rules != nullptr});
	}
	if (traced())
		turn_ns_ = place_ends_ns_ = start_ns;
}

int64_t send_changing(LineClock &line, Timeline &rates, int64_t arrival_ns, uint32_t bytes)
{
	int64_t now_ns = line.start_ns(arrival_ns);
	int64_t rate_bps = rates.at(now_ns);
	if (!rates.traced()) {
		line.set_rate(static_cast<uint64_t>(rate_bps));
		return line.send(arrival_ns, bytes);
	}
	if (rate_bps > 0) {
		LineClock alone = line;
		alone.set_rate(static_cast<uint64_t>(rate_bps));
		const int64_t leaves_ns = alone.send(arrival_ns, bytes);
		if (leaves_ns <= rates.changes_ns()) {
			line = alone;
			return leaves_ns;
		}
	}
	Wide left = Wide{bytes} * 8 * 1'000'000'000; // bits and their nanoseconds
	for (;;) {
		const int64_t until_ns = rates.changes_ns();
		const Wide rate = static_cast<Wide>(rate_bps);
		const bool ends = until_ns == INT64_MAX;
		if (rate > 0 && (ends || rate * static_cast<Wide>(until_ns - now_ns) >= left))
			break;
		left -= rate * static_cast<Wide>(until_ns - now_ns);
		now_ns = until_ns;
		rate_bps = rates.at(now_ns);
	}
	const Wide rate = static_cast<Wide>(rate_bps);
	now_ns += static_cast<int64_t>((left + rate - 1) / rate);
	line.busy_until(now_ns);
	return now_ns;
}

Mishaps::Mishaps(const Direction &direction) : losses_(direction), traced_(0)
{
	std::vector<int64_t> chances;
	chances.reserve(direction.trace.loss.size());
	for (const double loss : direction.trace.loss)
		chances.push_back(static_cast<int64_t>(loss * 1e15));
	traced_.follow(direction.trace, chances);
}

void Mishaps::add(const Event &event)
{
	const bool counted = event.packets.has_value();
	const int64_t end_ns = counted ? INT64_MAX : event.at_ns + *event.duration_ns;
	const bool down = event.kind == EventKind::down;
	windows_.push_back({event.at_ns,
			    end_ns,
			    counted ? *event.packets : UINT64_MAX,
			    down ? 1.0 : event.probability,
			    {event.index, 0}});
}

void Mishaps::begin(int64_t start_ns)
{
	begun_ = true;
	losses_.begin();
	traced_.begin(start_ns);
	for (auto &window : windows_) {
		window.at_ns += start_ns;
		if (window.end_ns != INT64_MAX)
			window.end_ns += start_ns;
	}
}

bool Mishaps::strikes(int64_t time_ns, Random &random)
{
	bool lost = begun_ && traced_.traced()
			? random.chance(static_cast<double>(traced_.at(time_ns)) * 1e-15)
			: losses_.takes(random);
	certain_ = false;
	if (!begun_ || windows_.empty())
		return lost;
	for (auto &window : windows_) {
		if (time_ns < window.at_ns || time_ns >= window.end_ns || window.packets == 0)
			continue;
		if (window.packets != UINT64_MAX)
			window.packets--;
		if (window.probability >= 1.0 || random.chance(window.probability)) {
			window.taken.packets++;
			lost = true;
			certain_ |= window.probability >= 1.0;
		}
	}
	return lost;
}

Mishaps::OfTwo Mishaps::strike_two(int64_t time_ns, Random &random)
{
	if (strikes(time_ns, random))
		return certain_ ? OfTwo{0, 1} : OfTwo{1, 0};
	return strikes(time_ns, random) ? OfTwo{1, 1} : OfTwo{2, 0};
}

std::vector<EventCount> Mishaps::counts() const
{
	std::vector<EventCount> found;
	found.reserve(windows_.size());
	for (const auto &window : windows_)
		found.push_back(window.taken);
	return found;
}

Background::Background(const Event &event, uint32_t packet_bytes)
    : index_(event.index), at_ns_(event.at_ns), end_ns_(event.at_ns + *event.duration_ns),
      rate_bps_(event.rate_bps), packet_bytes_(packet_bytes)
{
}

void Background::begin(int64_t start_ns)
{
	at_ns_ += start_ns;
	end_ns_ += start_ns;
	next_ns_ = at_ns_ < end_ns_ ? at_ns_ : INT64_MAX;
}

void Background::advance()
{
	count_++;
	const Wide bits = Wide{count_} * packet_bytes_ * 8;
	next_ns_ = at_ns_ + static_cast<int64_t>(bits * 1'000'000'000 / rate_bps_);
	if (next_ns_ >= end_ns_)
		next_ns_ = INT64_MAX;
}

} // namespace landspeed
