#include "lane.h"

#include <algorithm>
#include <stdexcept>

namespace landspeed
{

bool LaneConfig::disorders() const
{
	return Impairments::disorders() || has_event(EventKind::delay);
}

bool LaneConfig::respaces() const
{
	return Impairments::respaces() || disorders() || !trace.delay_ns.empty();
}

bool LaneConfig::has_event(EventKind kind) const
{
	return std::any_of(events.begin(), events.end(),
			   [&](const Event &event) { return event.kind == kind; });
}

Timeline LaneConfig::rates() const
{
	Timeline timeline(static_cast<int64_t>(rate_bps));
	timeline.follow(trace, trace.rate_bps);
	for (const auto &event : events)
		if (event.kind == EventKind::rate)
			timeline.change(event.at_ns,
					event.duration_ns ? event.at_ns + *event.duration_ns
							  : INT64_MAX,
					static_cast<int64_t>(event.rate_bps));
	return timeline;
}

Timeline LaneConfig::delays() const
{
	Timeline timeline(delay_ns);
	timeline.follow(trace, trace.delay_ns);
	for (const auto &event : events)
		if (event.kind == EventKind::delay)
			timeline.change(event.at_ns,
					event.duration_ns ? event.at_ns + *event.duration_ns
							  : INT64_MAX,
					event.delay_ns);
	return timeline;
}

Mishaps LaneConfig::mishaps() const
{
	Mishaps found(*this);
	for (const auto &event : events)
		if (event.kind == EventKind::loss || event.kind == EventKind::down)
			found.add(event);
	return found;
}

std::vector<Background> LaneConfig::background() const
{
	std::vector<Background> found;
	for (const auto &event : events)
		if (event.kind == EventKind::background)
			found.emplace_back(event, mtu_bytes);
	return found;
}

Lane::Lane(LaneConfig config)
    : config_(std::move(config)), line_(config_.rate_bps), rates_(config_.rates()),
      delays_(config_.delays()), mishaps_(config_.mishaps()), background_(config_.background()),
      random_(config_.seed), checks_queue_(config_.can_queue && config_.queue_bytes != UINT64_MAX),
      fate_(config_)
{
	const double wait =
	    static_cast<double>(config_.queue_bytes) * 8e9 / static_cast<double>(rates_.least());
	most_wait_ns_ = wait > 9e18 ? INT64_MAX : static_cast<int64_t>(wait);
}

void Lane::begin(int64_t start_ns)
{
	rates_.begin(start_ns);
	delays_.begin(start_ns);
	mishaps_.begin(start_ns);
	for (auto &each : background_)
		each.begin(start_ns);
}

int Lane::left_of_two(int64_t now_ns)
{
	if (!background_.empty())
		run_background(now_ns, now_ns);
	const auto [left, drops] = mishaps_.strike_two(now_ns, random_);
	for (int drop = 0; drop < drops; drop++)
		drop_times_.push(now_ns);
	return left;
}

bool Lane::pass(int64_t now_ns, int64_t enters_ns, Frame &frame, int64_t &arrives_ns, bool spared)
{
	if (!background_.empty())
		run_background(now_ns, enters_ns);
	settle(now_ns);
	int64_t leaves_ns = 0;
	if ((!spared && mishaps_.strikes(enters_ns, random_)) || fate_.full(enters_ns) ||
	    !enqueue(now_ns, enters_ns, frame.bytes, leaves_ns)) {
		drop_times_.push(enters_ns);
		return false;
	}
	frame.corrupt |= fate_.corrupts(random_);
	arrives_ns = fate_.arrives_ns(leaves_ns, delays_.at(leaves_ns), random_, delays_.traced());
	return true;
}

bool Lane::enqueue(int64_t /*now_ns*/, int64_t enters_ns, uint32_t bytes, int64_t &leaves_ns)
{
	const bool waits = line_.busy_at(enters_ns);
	if (checks_queue_) {
		start_until(enters_ns);
		if (waits && waiting_bytes_ + bytes > config_.queue_bytes)
			return false;
	} else if (waits && line_.free_ns() - enters_ns > most_wait_ns_) {
		proof_broken(line_.free_ns() - enters_ns);
	}
	const int64_t starts_ns = waits ? line_.free_ns() : enters_ns;
	const int64_t spaced_ns = line_.start_ns(enters_ns);
	const uint32_t line_bytes = config_.line_bytes(bytes);
	if (rates_.changes())
		leaves_ns = send_changing(line_, rates_, enters_ns, line_bytes);
	else
		leaves_ns = line_.send(enters_ns, line_bytes);
	if (config_.spaces_only)
		leaves_ns = spaced_ns;
	const uint32_t counted = config_.pads() ? line_bytes : bytes;
	passages_.push({starts_ns, leaves_ns, bytes, counted});
	waiting_bytes_ += bytes;
	waiting_counted_ += counted;
	return true;
}

/// Background packets that entered before `until_ns`, in their order.
void Lane::run_background(int64_t now_ns, int64_t until_ns)
{
	for (;;) {
		auto *next = &background_.front();
		for (auto &each : background_)
			if (each.next_ns() < next->next_ns())
				next = &each;
		const int64_t at_ns = next->next_ns();
		if (at_ns > until_ns || at_ns == INT64_MAX)
			return;
		next->advance();
		int64_t leaves_ns = 0;
		if (mishaps_.strikes(at_ns, random_) ||
		    !enqueue(now_ns, at_ns, next->packet_bytes(), leaves_ns))
			drop_times_.push(at_ns);
	}
}

/// Passages whose transmission has begun at a time wait no more.
void Lane::start_until(int64_t time_ns)
{
	while (started_ < passages_.tail() && passages_.at(started_).starts_ns <= time_ns) {
		waiting_counted_ -= passages_.at(started_).counted;
		waiting_bytes_ -= passages_.at(started_++).bytes;
	}
}

/// Counts what has left the line by now.
void Lane::settle(int64_t now_ns)
{
	while (!passages_.empty() && passages_.front().leaves_ns <= now_ns) {
		start_until(passages_.front().leaves_ns);
		counters_.bytes += passages_.front().counted;
		counters_.packets++;
		passages_.pop();
	}
	while (!drop_times_.empty() && drop_times_.front() <= now_ns) {
		counters_.drops++;
		drop_times_.pop();
	}
}

LaneCounters Lane::count(int64_t now_ns)
{
	if (!background_.empty())
		run_background(now_ns, now_ns);
	settle(now_ns);
	LaneCounters counters = counters_;
	if (checks_queue_ || config_.queue_bytes == UINT64_MAX) {
		start_until(now_ns);
		counters.backlog_bytes = waiting_counted_;
		counters.backlog_packets = passages_.tail() - started_;
	}
	return counters;
}

std::vector<EventCount> Lane::event_counts() const
{
	std::vector<EventCount> found = mishaps_.counts();
	for (const auto &each : background_)
		found.push_back(each.count());
	return found;
}

void Lane::proof_broken(int64_t waits_ns) const
{
	throw std::logic_error(config_.name + ": a packet waits " + std::to_string(waits_ns) +
			       " ns where the plan says that nothing queues");
}

} // namespace landspeed
