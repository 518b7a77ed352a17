// Flows with their routes, and events.
#include "parts.h"

#include <algorithm>

namespace landspeed
{

namespace
{

Transfer transfer_read(const Field &field)
{
	Transfer transfer;
	transfer.streams = static_cast<uint32_t>(field.at("streams").integer(1, 10'000));
	if (field.has("window_bytes"))
		transfer.window_bytes = field.at("window_bytes").integer(1, 1ULL << 31);
	transfer.window_exact = field.has("window_exact") && field.at("window_exact").boolean();
	if (field.has("initial_window_packets"))
		transfer.initial_window_packets =
		    static_cast<uint32_t>(field.at("initial_window_packets").integer(1, 100'000));
	transfer.congestion_control = field.at("congestion_control").text();
	if (field.has("bytes"))
		transfer.bytes = field.at("bytes").integer(1, INT64_MAX);
	if (field.has("duration_ns"))
		transfer.duration_ns = field.at("duration_ns").time_ns(1);
	if (transfer.bytes.has_value() == transfer.duration_ns.has_value())
		field.fail("exactly one of bytes and duration_ns is wanted");
	transfer.sample_interval_ns = field.at("sample_interval_ns").time_ns(1);
	if (field.has("pacing_rate_bps"))
		transfer.pacing_rate_bps = field.at("pacing_rate_bps").rate_bps();
	if (field.has("start_stagger_ns"))
		transfer.start_stagger_ns = field.at("start_stagger_ns").time_ns();
	if (field.has("stall_ns"))
		transfer.stall_ns = field.at("stall_ns").time_ns(1);
	if (field.has("ping_interval_ns"))
		transfer.ping_interval_ns = field.at("ping_interval_ns").time_ns(1);
	transfer.datagrams =
	    field.has("protocol") && field.at("protocol").one_of({"tcp", "udp"}) == 1;
	if (transfer.datagrams) {
		constexpr uint64_t least_bytes = 68; // with IPv6 20 more
		transfer.rate_bps = field.at("rate_bps").rate_bps();
		transfer.packet_bytes =
		    static_cast<uint32_t>(field.at("packet_bytes").integer(least_bytes, 65'535));
		if (!transfer.duration_ns)
			field.fail("datagrams have a duration");
		if (field.has("active_ns") != field.has("idle_ns"))
			field.fail("active_ns and idle_ns go together");
		if (field.has("active_ns")) {
			transfer.active_ns = field.at("active_ns").time_ns(1'000'000);
			transfer.idle_ns = field.at("idle_ns").time_ns(1'000'000);
		}
	}
	transfer.ecn = field.has("ecn") && field.at("ecn").boolean();
	return transfer;
}

/// The links that a flow passes, from one of its ends to the other, no node twice.
std::vector<Step> route_read(const Field &field, size_t source, size_t target, const Plan &plan)
{
	std::vector<Step> route;
	std::vector<bool> passed(plan.nodes.size());
	size_t here = source;
	for (const auto &item : field.items()) {
		const Node &node = plan.nodes[here];
		if (here != source && node.host)
			item.fail("goes on from " + node.name +
				  ", which is a host and forwards nothing");
		passed[here] = true;
		const size_t index = item.integer(0, plan.links.size() - 1);
		const Link &link = plan.links[index];
		if (here != link.a && here != link.b)
			item.fail("link " + std::to_string(index) + " does not begin at " +
				  node.name);
		route.push_back({index, here == link.a});
		here = plan.end(route.back());
		if (passed[here])
			item.fail("comes to " + plan.nodes[here].name + " again");
	}
	if (here != target)
		field.fail("ends at " + plan.nodes[here].name + ", not at " +
			   plan.nodes[target].name);
	return route;
}

/// The way back of a flow: that which is written, or its links reversed.
std::vector<Step> back_read(const Field &field, const Flow &flow, const Plan &plan)
{
	if (field.has("route_back"))
		return route_read(field.at("route_back"), flow.target, flow.source, plan);
	std::vector<Step> turned(flow.route.rbegin(), flow.route.rend());
	for (auto &step : turned)
		step.ahead = !step.ahead;
	return turned;
}

} // namespace

Flow flow_read(const Field &field, const Plan &plan)
{
	Flow flow;
	flow.name = field.at("name").text();
	flow.transfer = transfer_read(field.at("transfer"));
	flow.source = node_named(field.at("source"), plan.nodes);
	flow.target = node_named(field.at("target"), plan.nodes);
	for (const size_t end : {flow.source, flow.target})
		if (!plan.nodes[end].host)
			field.fail(plan.nodes[end].name +
				   " is a router: flows go from host to host");
	if (flow.source == flow.target)
		field.fail("goes from " + plan.nodes[flow.source].name + " to itself");
	flow.route = route_read(field.at("route"), flow.source, flow.target, plan);
	flow.back = back_read(field, flow, plan);
	if (field.has("start_ns"))
		flow.start_ns = field.at("start_ns").time_ns();
	return flow;
}

Event event_read(const Field &field, size_t links)
{
	Event event;
	event.at_ns = field.at("at_ns").time_ns();
	event.kind = static_cast<EventKind>(
	    field.at("kind").one_of({"loss", "rate", "delay", "down", "background"}));
	event.link = field.at("link").integer(0, links - 1);
	const auto direction = field.at("direction").one_of({"forward", "reverse", "both"});
	event.forward = direction != 1;
	event.reverse = direction != 0;
	if (field.has("packets"))
		event.packets = field.at("packets").integer(1, INT64_MAX);
	if (field.has("duration_ns"))
		event.duration_ns = field.at("duration_ns").time_ns();
	if (field.has("probability"))
		event.probability = field.at("probability").probability();
	switch (event.kind) {
	case EventKind::loss:
		if (event.packets.has_value() == event.duration_ns.has_value())
			field.fail("a loss has exactly one of packets and duration_ns");
		break;
	case EventKind::delay:
		event.delay_ns = field.at("delay_ns").time_ns();
		break;
	case EventKind::background:
	case EventKind::rate:
		event.rate_bps = field.at("rate_bps").rate_bps();
		[[fallthrough]];
	case EventKind::down:
		if (event.kind != EventKind::rate)
			(void)field.at("duration_ns");
		break;
	}
	return event;
}

} // namespace landspeed
