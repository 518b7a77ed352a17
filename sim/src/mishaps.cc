#include "mishaps.h"

#include "line.h"

#include <algorithm>

namespace landspeed
{

void Timeline::change(int64_t at_ns, int64_t end_ns, int64_t value)
{
	spans_.push_back({at_ns, end_ns, value});
}

int64_t Timeline::least() const
{
	int64_t found = base_;
	for (const auto &span : spans_)
		found = std::min(found, span.value);
	return found;
}

int64_t Timeline::most() const
{
	int64_t found = base_;
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
		steps_.push_back({start_ns + time, rules != nullptr ? rules->value : base_});
	}
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
	for (auto &window : windows_) {
		window.at_ns += start_ns;
		if (window.end_ns != INT64_MAX)
			window.end_ns += start_ns;
	}
}

bool Mishaps::strikes(int64_t time_ns, Random &random)
{
	bool lost = losses_.takes(random);
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
		}
	}
	return lost;
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
