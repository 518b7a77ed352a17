#include "result.h"

#include "datagrams.h"
#include "probe.h"
#include "streams.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ns3/simulator.h>
#include <ns3/version.h>
#include <stdexcept>

namespace landspeed
{

namespace
{

using Json = nlohmann::ordered_json;

double seconds(int64_t time_ns)
{
	return static_cast<double>(time_ns) / 1e9;
}

/// What echoes take before the first flow connects is no time of the run; -1: never.
int64_t since_idle(const Plan &plan, int64_t start_ns)
{
	return start_ns < 0 ? start_ns : start_ns - plan.idle_ns();
}

/// As the engine defines it (engine/src/telemetry/goodput.h): what had come when the clock began
/// took no time of it; what took less than a round trip has no rate.
struct Goodput {
	uint64_t bytes, early_bytes;
	int64_t duration_ns;
	uint64_t rtt_us; ///< the smallest that was seen; 0: unknown

	bool known() const
	{
		return duration_ns > 0 && bytes > early_bytes &&
		       duration_ns >= static_cast<int64_t>(rtt_us * 1000);
	}

	Json bps() const
	{
		return known() ? Json(static_cast<double>(bytes - early_bytes) * 8e9 /
				      static_cast<double>(duration_ns))
			       : Json(nullptr);
	}

	Json reason() const
	{
		if (known())
			return nullptr;
		if (bytes == 0)
			return "nothing came";
		if (bytes <= early_bytes)
			return "too short for a rate: all had come at once";
		return "too short for a rate: less than an RTT";
	}
};

/// `timed`: the time limit ended it.
Json streams_json(const Plan &plan, const Streams &streams, bool timed)
{
	Json list = Json::array();
	for (const auto &stream : streams.all()) {
		const SocketView view = stream.sender ? stream.sender->view() : SocketView{};
		// Where the time ends it, as much has come and is not counted by then.
		const Goodput goodput{stream.bytes, timed ? 0 : stream.early_bytes,
				      stream.last_ns - stream.first_ns, view.min_rtt_us};
		const auto known = [](uint64_t value) {
			return value > 0 ? Json(value) : Json(nullptr);
		};
		list.push_back({
		    {"stream", stream.index},
		    {"bytes", stream.bytes},
		    {"first_byte_ns", stream.first_ns < 0 ? Json(nullptr) : Json(stream.first_ns)},
		    {"last_byte_ns", stream.last_ns < 0 ? Json(nullptr) : Json(stream.last_ns)},
		    {"early_bytes", goodput.early_bytes},
		    {"duration_s", seconds(goodput.duration_ns)},
		    {"goodput_bps", goodput.bps()},
		    {"goodput_reason", goodput.reason()},
		    {"retransmits", view.retransmits},
		    {"bytes_retransmitted", view.bytes_retransmitted},
		    {"min_rtt_us", known(view.min_rtt_us)},
		    {"srtt_us", known(view.srtt_us)},
		    {"mss_bytes", plan.mss_bytes(streams.flow())},
		    {"congestion_control", streams.flow().transfer.congestion_control},
		});
	}
	return list;
}

Json lanes_json(const Network &network)
{
	const int64_t now_ns = ns3::Simulator::Now().GetNanoSeconds();
	Json list = Json::array();
	for (const auto &info : network.lanes) {
		const LaneCounters counters = info.lane->count(now_ns);
		list.push_back({
		    {"name", info.config.name},
		    {"link", info.config.link < 0 ? Json(nullptr) : Json(info.config.link)},
		    {"direction", info.config.forward ? "forward" : "reverse"},
		    {"rate_bps", info.config.rate_bps},
		    {"framing_bytes", info.config.framing_bytes},
		    {"can_queue", info.config.can_queue},
		    {"joined", info.joining.joined},
		    {"why", info.joining.why},
		    {"packets", counters.packets},
		    {"bytes", counters.bytes},
		    {"drops", counters.drops},
		});
	}
	return list;
}

/// For each event of the plan: packets lost, or of background traffic sent; null if it is of
/// another kind.
Json event_packets_json(const Plan &plan, const Network &network)
{
	Json list = Json::array();
	for (const auto &event : plan.events) {
		const bool counts = event.kind != EventKind::rate && event.kind != EventKind::delay;
		list.push_back(counts ? Json(uint64_t{0}) : Json(nullptr));
	}
	for (const auto &info : network.lanes)
		for (const auto &count : info.lane->event_counts())
			list[count.index] = list[count.index].get<uint64_t>() + count.packets;
	return list;
}

Json hops_json(const Plan &plan, const std::vector<HopTime> &hops)
{
	Json list = Json::array();
	for (const auto &hop : hops)
		list.push_back({{"ttl", hop.ttl},
				{"node", plan.nodes[hop.node].name},
				{"rtt_ms", static_cast<double>(hop.rtt_ns) / 1e6},
				{"propagation_ms", static_cast<double>(hop.propagation_ns) / 1e6}});
	return list;
}

Json calibration_json(const Plan &plan, const Layout &layout, size_t flow)
{
	const auto hops = probe_hops(plan, layout, flow, true);
	return {
	    {"how", "derived exactly: one echo of 84 B at a time through lanes made as the "
		    "transfer's are, idle, without "
		    "losses, jitter and events; no random number, no packet of the transfer"},
	    {"rtt_ms", static_cast<double>(hops.back().rtt_ns) / 1e6},
	    {"propagation_ms", static_cast<double>(hops.back().propagation_ns) / 1e6},
	    {"hops", hops_json(plan, hops)},
	    {"reverse_hops", hops_json(plan, probe_hops(plan, layout, flow, false))},
	    {"path_mtu_bytes", plan.mtu_bytes(plan.flows[flow])},
	    {"rate_bps", probe_rate_bps(plan, layout, flow, true)},
	    {"rate_reverse_bps", probe_rate_bps(plan, layout, flow, false)},
	};
}

/// `over`: it came to its end.
Json flow_json(const Plan &plan, const Streams &streams, bool over)
{
	const Transfer &transfer = streams.flow().transfer;
	int64_t first_ns = INT64_MAX, last_ns = -1;
	uint64_t retransmits = 0, bytes_retransmitted = 0;
	Goodput goodput{streams.bytes(), 0, 0, 0};
	for (const auto &stream : streams.all()) {
		if (stream.first_ns >= 0)
			first_ns = std::min(first_ns, stream.first_ns);
		last_ns = std::max(last_ns, stream.last_ns);
		if (!stream.sender)
			continue;
		const SocketView view = stream.sender->view();
		retransmits += view.retransmits;
		bytes_retransmitted += view.bytes_retransmitted;
		if (view.min_rtt_us > 0 &&
		    (goodput.rtt_us == 0 || view.min_rtt_us < goodput.rtt_us))
			goodput.rtt_us = view.min_rtt_us;
	}
	// As the engine counts: first to last byte read, or the time limit when that ended it.
	goodput.duration_ns = last_ns < 0 ? 0 : last_ns - first_ns;
	const bool timed = transfer.duration_ns && over;
	if (timed)
		goodput.duration_ns = *transfer.duration_ns;
	for (const auto &stream : streams.all())
		if (!timed && stream.first_ns == first_ns)
			goodput.early_bytes += stream.early_bytes;
	return {
	    {"name", streams.flow().name},
	    {"complete", over},
	    {"start_ns", since_idle(plan, streams.start_ns())},
	    {"bytes", streams.bytes()},
	    {"early_bytes", goodput.early_bytes},
	    {"duration_s", seconds(goodput.duration_ns)},
	    {"goodput_bps", goodput.bps()},
	    {"goodput_reason", goodput.reason()},
	    {"retransmits", retransmits},
	    {"bytes_retransmitted", bytes_retransmitted},
	    {"corrupted_packets", streams.corrupted()},
	    {"congestion_control", streams.congestion_control()},
	    {"window",
	     {{"asked_bytes", transfer.window_bytes ? Json(*transfer.window_bytes) : Json(nullptr)},
	      {"receive_window_bytes", streams.grant().receive_window_bytes},
	      {"send_buffer_bytes", streams.grant().send_buffer_bytes}}},
	    {"streams", streams_json(plan, streams, timed)},
	};
}

/// As the engine tells of its `udp` (engine/src/probe/datagram_client.c).
Json datagrams_json(const Plan &plan, const Datagrams &datagrams, bool over)
{
	constexpr size_t steps = 200;
	const auto delays = datagrams.delays_ns();
	const uint64_t sent = datagrams.sent(), received = datagrams.received();
	const bool longer = datagrams.span_ns() > datagrams.duration_ns();
	const Goodput goodput{datagrams.bytes(), longer ? datagrams.payload_bytes() : 0,
			      longer ? datagrams.span_ns() : datagrams.duration_ns(), 0};
	Json quantiles = Json::array(), delay = nullptr;
	const auto at = [&delays](double share) {
		const double count = share * static_cast<double>(delays.size());
		const size_t place = static_cast<size_t>(std::ceil(count));
		return seconds(delays[std::max<size_t>(place, 1) - 1]);
	};
	if (!delays.empty()) {
		long double sum = 0;
		for (const int64_t each : delays)
			sum += static_cast<long double>(each);
		for (size_t i = 1; i <= steps; i++)
			quantiles.push_back(at(static_cast<double>(i) / steps));
		delay = {{"count", delays.size()},
			 {"mean_s",
			  static_cast<double>(sum / static_cast<long double>(delays.size())) / 1e9},
			 {"min_s", seconds(delays.front())},
			 {"p50_s", at(0.5)},
			 {"p95_s", at(0.95)},
			 {"p99_s", at(0.99)},
			 {"max_s", seconds(delays.back())},
			 {"steps_s", quantiles}};
	}
	return {
	    {"name", datagrams.flow().name},
	    {"complete", over},
	    {"start_ns", since_idle(plan, datagrams.start_ns())},
	    {"options", {{"size_bytes", datagrams.payload_bytes()}}},
	    {"sent", sent},
	    {"received", received},
	    {"lost", sent - received},
	    {"loss_ratio",
	     sent > 0 ? Json(static_cast<double>(sent - received) / static_cast<double>(sent))
		      : Json(nullptr)},
	    {"reordered", datagrams.reordered()},
	    {"duplicates", datagrams.duplicates()},
	    {"duration_s", seconds(datagrams.duration_ns())},
	    {"goodput_bps", goodput.bps()},
	    {"goodput_reason", goodput.reason()},
	    {"jitter_s", datagrams.jitter_ns() / 1e9},
	    {"jitter_mean_s", datagrams.jitter_mean_ns() / 1e9},
	    {"one_way_delay", delay},
	    {"corrupted_packets", datagrams.corrupted()},
	};
}

/// Of a flow's own kind.
Json sending_json(const Plan &plan, const Sending &sending, bool over)
{
	if (const auto *datagrams = dynamic_cast<const Datagrams *>(&sending))
		return datagrams_json(plan, *datagrams, over);
	return flow_json(plan, dynamic_cast<const Streams &>(sending), over);
}

} // namespace

void result_write(const std::string &folder, const Plan &plan, const Layout &layout,
		  const Network &network, const Flows &flows, const Outcome &outcome)
{
	Json list = Json::array();
	for (size_t i = 0; i < plan.flows.size(); i++) {
		list.push_back(sending_json(plan, *flows.all()[i], flows.over(i)));
		list.back()["calibration"] = calibration_json(plan, layout, i);
	}
	const Json json = {
	    {"program", "landspeed-sim"},
	    {"complete", outcome.complete},
	    {"error", outcome.error.empty() ? Json(nullptr) : Json(outcome.error)},
	    {"scenario", plan.scenario},
	    {"seed", plan.seed},
	    {"fidelity", "packets"},
	    {"fidelity_asked", plan.fidelity},
	    {"ns3_version", NS3_VERSION_TEXT},
	    {"scheduler", outcome.scheduler},
	    {"collapse", outcome.collapse},
	    {"events", outcome.events},
	    {"wall_s", outcome.wall_s},
	    {"cpu_s", outcome.cpu_s},
	    {"simulated_s", seconds(outcome.simulated_ns)},
	    {"start_ns", since_idle(plan, flows.start_ns())},
	    {"flows", list},
	    {"lanes", lanes_json(network)},
	    {"event_packets", event_packets_json(plan, network)},
	};
	const std::string file_name = folder + "/result.json";
	std::ofstream file(file_name);
	file << json.dump(1) << '\n';
	file.close();
	if (!file)
		throw std::runtime_error(file_name +
					 ": cannot be written: " + std::strerror(errno));
}

} // namespace landspeed
