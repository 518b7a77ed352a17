#include "datagrams.h"

#include <algorithm>
#include <cmath>
#include <ns3/simulator.h>

namespace landspeed
{

using ns3::NanoSeconds;
using ns3::Simulator;

namespace
{

constexpr uint32_t udp_header_bytes = 8;
/// As the engine waits: until nothing has come for that, once all are sent.
constexpr int64_t quiet_ns = 1'000'000'000, quiet_most_ns = 10 * quiet_ns;

} // namespace

Datagrams::Datagrams(const Plan &plan, const Flow &flow, const Network::Ends &ends)
    : flow_(flow), ends_(ends), payload_bytes_(flow.transfer.packet_bytes -
					       (plan.ip_version == 6 ? 40 : 20) - udp_header_bytes),
      rate_bps_(static_cast<uint64_t>(static_cast<Wide>(flow.transfer.rate_bps) * payload_bytes_ /
				      flow.transfer.packet_bytes))
{
	const Transfer &transfer = flow.transfer;
	if (transfer.active_ns > 0) {
		together_ = 1;
		while (step_ns(together_) < transfer.active_ns)
			together_++;
	}
	for (const auto &[link, ahead] : flow.route)
		one_way_ns_ +=
		    (ahead ? plan.links[link].forward : plan.links[link].reverse).delay_ns;
	ends.receiver.device->datagram_came = [this](uint64_t number, int64_t sent_ns) {
		came(number, sent_ns);
	};
	Simulator::Schedule(NanoSeconds(plan.idle_ns() + flow.start_ns), &Datagrams::begin, this);
}

/// When datagram `number` of a time of sending is due.
int64_t Datagrams::step_ns(uint64_t number) const
{
	return static_cast<int64_t>(static_cast<long double>(number) * payload_bytes_ * 8e9L /
				    static_cast<long double>(rate_bps_));
}

int64_t Datagrams::due_ns(uint64_t number) const
{
	const Transfer &transfer = flow_.transfer;
	return static_cast<int64_t>(number / together_) * (transfer.active_ns + transfer.idle_ns) +
	       step_ns(number % together_);
}

void Datagrams::begin()
{
	start_ns_ = Simulator::Now().GetNanoSeconds();
	started();
	send();
}

void Datagrams::send()
{
	const int64_t lasts_ns = *flow_.transfer.duration_ns;
	if (ended_)
		return;
	ends_.sender.device->send_datagram(flow_.transfer.packet_bytes, sent_++);
	const int64_t now_ns = Simulator::Now().GetNanoSeconds(), next_ns = due_ns(sent_);
	if (next_ns < lasts_ns) {
		Simulator::Schedule(NanoSeconds(start_ns_ + next_ns - now_ns), &Datagrams::send,
				    this);
		return;
	}
	const int64_t over_ns = start_ns_ + duration_ns();
	const int64_t until_ns = over_ns + one_way_ns_ + quiet_most_ns;
	Simulator::Schedule(NanoSeconds(over_ns - now_ns), [this, until_ns] {
		if (received_ >= sent_)
			delivered();
		else
			Simulator::Schedule(NanoSeconds(one_way_ns_ + quiet_ns), &Datagrams::look,
					    this, until_ns);
	});
}

/// The others are lost when nothing has come for a while.
void Datagrams::look(int64_t until_ns)
{
	const int64_t now_ns = Simulator::Now().GetNanoSeconds();
	if (ended_)
		return;
	if (now_ns - last_ns_ >= quiet_ns || now_ns >= until_ns)
		delivered();
	else
		Simulator::Schedule(NanoSeconds(last_ns_ + quiet_ns - now_ns), &Datagrams::look,
				    this, until_ns);
}

void Datagrams::came(uint64_t number, int64_t sent_ns)
{
	const int64_t now_ns = Simulator::Now().GetNanoSeconds(), transit_ns = now_ns - sent_ns;
	if (seen_.size() <= number)
		seen_.resize(std::max<size_t>(2 * seen_.size(), number + 1));
	if (seen_[number]) {
		duplicates_++;
		return;
	}
	seen_[number] = true;
	reordered_ += number < next_ ? 1 : 0;
	next_ = std::max(next_, number + 1);
	if (received_++ > 0) {
		const auto change_ns =
		    std::fabs(static_cast<double>(transit_ns) - static_cast<double>(transit_ns_));
		jitter_ns_ += (change_ns - jitter_ns_) / 16;
		changes_ns_ += change_ns;
	} else {
		first_ns_ = now_ns;
	}
	last_ns_ = now_ns;
	transit_ns_ = transit_ns;
	delays_ns_.push_back(transit_ns);
	// What was late: the time of sending is over.
	if (received_ == sent_ && now_ns >= start_ns_ + *flow_.transfer.duration_ns && !ended_)
		delivered();
}

double Datagrams::jitter_mean_ns() const
{
	return received_ > 1 ? changes_ns_ / static_cast<double>(received_ - 1) : 0;
}

std::vector<int64_t> Datagrams::delays_ns() const
{
	auto sorted = delays_ns_;
	std::sort(sorted.begin(), sorted.end());
	return sorted;
}

int64_t Datagrams::duration_ns() const
{
	const int64_t asked_ns = *flow_.transfer.duration_ns;
	const int64_t parts_ns = sent_ > 0 ? due_ns(sent_ - 1) + step_ns(1) : 0;
	return due_ns(sent_) >= asked_ns ? std::max(parts_ns, asked_ns) : parts_ns;
}

void Datagrams::end()
{
	ended_ = true;
	ends_.sender.device->shut();
	ends_.receiver.device->shut();
}

} // namespace landspeed
