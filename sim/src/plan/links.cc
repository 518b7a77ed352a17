// Nodes and links, each with its two directions.
#include "parts.h"

#include <algorithm>

namespace landspeed
{

namespace
{

QueueParameters parameters_read(const Field &field)
{
	QueueParameters parameters;
	const auto number = [&](const char *key, uint64_t most) {
		return field.has(key) ? field.at(key).integer(0, most) : 0;
	};
	const auto time_ns = [&](const char *key) {
		return field.has(key) ? field.at(key).time_ns() : 0;
	};
	if (field.has("ecn"))
		parameters.ecn = field.at("ecn").boolean();
	parameters.min_bytes = number("min_bytes", INT64_MAX);
	parameters.max_bytes = number("max_bytes", INT64_MAX);
	parameters.weight_log = static_cast<uint32_t>(number("weight_log", 9));
	if (field.has("probability"))
		parameters.probability = field.at("probability").probability();
	parameters.target_ns = time_ns("target_ns");
	parameters.interval_ns = time_ns("interval_ns");
	parameters.update_ns = time_ns("update_ns");
	if (field.has("ce_threshold_ns"))
		parameters.ce_threshold_ns = field.at("ce_threshold_ns").time_ns();
	parameters.alpha = static_cast<uint32_t>(number("alpha", 32));
	parameters.beta = static_cast<uint32_t>(number("beta", 32));
	parameters.flows = static_cast<uint32_t>(number("flows", 65536));
	if (field.has("quantum_bytes"))
		parameters.quantum_bytes =
		    static_cast<uint32_t>(field.at("quantum_bytes").integer(1, INT32_MAX));
	return parameters;
}

Trace trace_read(const Field &field)
{
	Trace trace;
	for (const auto &item : field.at("at_ns").items()) {
		trace.at_ns.push_back(item.time_ns());
		const size_t count = trace.at_ns.size();
		if (count == 1 ? trace.at_ns[0] != 0
			       : trace.at_ns[count - 1] <= trace.at_ns[count - 2])
			item.fail("times begin at 0 and rise");
	}
	trace.lasts_ns = field.at("lasts_ns").time_ns(1'000'000);
	trace.loops = field.at("loops").boolean();
	if (trace.at_ns.empty() || trace.at_ns.back() > trace.lasts_ns - (trace.loops ? 1 : 0))
		field.fail("its times are to end with lasts_ns");
	if (field.has("rate_bps"))
		for (const auto &item : field.at("rate_bps").items())
			trace.rate_bps.push_back(
			    static_cast<int64_t>(item.integer(0, 1'000'000'000'000'000)));
	if (field.has("delay_ns"))
		for (const auto &item : field.at("delay_ns").items())
			trace.delay_ns.push_back(item.time_ns());
	if (field.has("loss"))
		for (const auto &item : field.at("loss").items())
			trace.loss.push_back(item.probability());
	for (const size_t count : {trace.rate_bps.size(), trace.delay_ns.size(), trace.loss.size()})
		if (count != 0 && count != trace.at_ns.size())
			field.fail("a list has another length than at_ns");
	if (!trace.rate_bps.empty() &&
	    (trace.loops ? *std::max_element(trace.rate_bps.begin(), trace.rate_bps.end())
			 : trace.rate_bps.back()) == 0)
		field.fail("a rate of 0 for good");
	return trace;
}

Netem netem_read(const Field &field)
{
	Netem netem;
	if (field.has("table"))
		for (const auto &item : field.at("table").items())
			netem.table.push_back(
			    static_cast<int16_t>(item.number(INT16_MIN, INT16_MAX)));
	if (netem.table.size() > 16384)
		field.fail("a table of delays has at most 16384 entries");
	netem.keeps_order = field.at("keeps_order").boolean();
	netem.gap = static_cast<uint32_t>(field.at("gap").integer(0, UINT32_MAX));
	if (field.has("limit_packets"))
		netem.limit_packets = field.at("limit_packets").integer(1, UINT32_MAX);
	netem.delay_correlation = field.at("delay_correlation").probability();
	netem.loss_correlation = field.at("loss_correlation").probability();
	netem.duplicate_correlation = field.at("duplicate_correlation").probability();
	netem.corrupt_correlation = field.at("corrupt_correlation").probability();
	netem.reorder_correlation = field.at("reorder_correlation").probability();
	netem.loss_model =
	    static_cast<NetemLoss>(field.at("loss_model").one_of({"random", "state", "gemodel"}));
	const auto chances = field.at("loss_chances").items();
	if (chances.size() > netem.chances.size())
		field.fail("a model of losses has at most five chances");
	for (size_t i = 0; i < chances.size(); i++)
		netem.chances[i] = chances[i].probability();
	return netem;
}

Direction direction_read(const Field &field)
{
	Direction direction;
	direction.delay_ns = field.at("delay_ns").time_ns();
	direction.rate_bps = field.at("rate_bps").rate_bps();
	direction.queue_bytes = field.at("queue_bytes").integer(1, INT64_MAX);
	direction.can_queue = field.at("can_queue").boolean();
	for (const auto &each : impairment_numbers)
		if (field.has(each.key))
			direction.*each.field = field.at(each.key).number(each.least, each.most);
	for (const auto &each : impairment_times)
		if (field.has(each.key))
			direction.*each.field = field.at(each.key).time_ns();
	if (field.has("netem"))
		direction.netem = netem_read(field.at("netem"));
	if (field.has("seed"))
		direction.seed = field.at("seed").integer(0, UINT64_MAX);
	if (field.has("discipline"))
		direction.discipline = static_cast<Discipline>(
		    field.at("discipline")
			.one_of({"fifo", "red", "codel", "fq_codel", "pie", "fq_pie"}));
	if (direction.discipline != Discipline::fifo)
		direction.parameters = parameters_read(field.at("parameters"));
	if (field.has("trace"))
		direction.trace = trace_read(field.at("trace"));
	return direction;
}

} // namespace

Node node_read(const Field &field)
{
	Node node;
	node.name = field.at("name").text();
	node.host = field.at("kind").one_of({"host", "router"}) == 0;
	if (field.has("nic_rate_bps"))
		node.nic_rate_bps = field.at("nic_rate_bps").rate_bps();
	if (field.has("bus_rate_bps"))
		node.bus_rate_bps = field.at("bus_rate_bps").rate_bps();
	if (field.has("paced"))
		node.paced = field.at("paced").boolean();
	return node;
}

size_t node_named(const Field &field, const std::vector<Node> &nodes)
{
	const std::string name = field.text();
	const auto found = std::find_if(nodes.begin(), nodes.end(),
					[&](const Node &node) { return node.name == name; });
	if (found == nodes.end())
		field.fail("there is no node '" + name + "'");
	return static_cast<size_t>(found - nodes.begin());
}

Link link_read(const Field &field, const std::vector<Node> &nodes)
{
	Link link;
	link.a = node_named(field.at("a"), nodes);
	link.b = node_named(field.at("b"), nodes);
	if (link.a == link.b)
		field.fail("joins " + nodes[link.a].name + " with itself");
	link.mtu_bytes = static_cast<uint32_t>(field.at("mtu_bytes").integer(68, 65535));
	link.framing_bytes = static_cast<uint32_t>(field.at("framing_bytes").integer(0, 1000));
	if (field.has("cells"))
		link.cells =
		    field.at("cells").one_of({"atm", "ptm"}) == 0 ? Cells::atm : Cells::ptm;
	if (field.has("least_bytes"))
		link.least_bytes = static_cast<uint32_t>(field.at("least_bytes").integer(0, 1000));
	link.forward = direction_read(field.at("forward"));
	link.reverse = direction_read(field.at("reverse"));
	return link;
}

} // namespace landspeed
