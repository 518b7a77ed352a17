#include "plan.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace landspeed
{

namespace
{

using Json = nlohmann::json;

constexpr size_t most_links = 1000; // scenarios have at most 255: each hop takes one off the TTL

/// A place in the plan, so that an error can name it.
class Field
{
public:
	Field(const Json &value, std::string path) : value_(value), path_(std::move(path))
	{
	}

	[[noreturn]] void fail(const std::string &what) const
	{
		throw PlanError(path_ + ": " + what);
	}

	[[nodiscard]] bool has(const std::string &key) const
	{
		return value_.contains(key) && !value_[key].is_null();
	}

	[[nodiscard]] Field at(const std::string &key) const
	{
		if (!value_.is_object())
			fail("an object is wanted here");
		if (!has(key))
			throw PlanError(join(key) + " is missing");
		return {value_[key], join(key)};
	}

	[[nodiscard]] std::vector<Field> items() const
	{
		if (!value_.is_array())
			fail("a list is wanted here");
		std::vector<Field> found;
		for (size_t i = 0; i < value_.size(); i++)
			found.emplace_back(value_[i], path_ + "[" + std::to_string(i) + "]");
		return found;
	}

	[[nodiscard]] uint64_t integer(uint64_t least, uint64_t most) const
	{
		if (!value_.is_number_integer() || (value_ < 0))
			fail("a whole number of at least " + std::to_string(least) + " is wanted");
		const auto number = value_.get<uint64_t>();
		if (number < least || number > most)
			fail(std::to_string(number) + " is not between " + std::to_string(least) +
			     " and " + std::to_string(most));
		return number;
	}

	/// A time of at most 26 days: sums over every link of a path stay far within 64 bits.
	[[nodiscard]] int64_t time_ns(uint64_t least = 0) const
	{
		return static_cast<int64_t>(integer(least, INT64_MAX / 4096));
	}

	[[nodiscard]] uint64_t rate_bps() const
	{
		return integer(1, 1'000'000'000'000'000);
	}

	[[nodiscard]] double number(double least, double most) const
	{
		if (!value_.is_number() || value_.get<double>() < least ||
		    value_.get<double>() > most) {
			std::ostringstream range;
			range << least << " and " << most;
			fail("a number between " + range.str() + " is wanted");
		}
		return value_.get<double>();
	}

	[[nodiscard]] double probability() const
	{
		return number(0, 1);
	}

	[[nodiscard]] bool boolean() const
	{
		if (!value_.is_boolean())
			fail("true or false is wanted");
		return value_.get<bool>();
	}

	[[nodiscard]] std::string text() const
	{
		if (!value_.is_string())
			fail("a string is wanted");
		return value_.get<std::string>();
	}

	/// The position of the text in a list of those allowed.
	[[nodiscard]] size_t one_of(const std::vector<std::string> &names) const
	{
		const auto found = std::find(names.begin(), names.end(), text());
		if (found == names.end()) {
			std::string list;
			for (const auto &name : names)
				list += (list.empty() ? "" : ", ") + name;
			fail("'" + text() + "' is none of: " + list);
		}
		return static_cast<size_t>(found - names.begin());
	}

private:
	[[nodiscard]] std::string join(const std::string &key) const
	{
		return path_.empty() ? key : path_ + "." + key;
	}

	const Json &value_;
	std::string path_;
};

Node node_read(const Field &field)
{
	Node node;
	node.name = field.at("name").text();
	node.host = field.at("kind").one_of({"host", "router"}) == 0;
	if (field.has("nic_rate_bps"))
		node.nic_rate_bps = field.at("nic_rate_bps").rate_bps();
	if (field.has("bus_rate_bps"))
		node.bus_rate_bps = field.at("bus_rate_bps").rate_bps();
	return node;
}

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

Link link_read(const Field &field)
{
	Link link;
	link.a = field.at("a").text();
	link.b = field.at("b").text();
	link.mtu_bytes = static_cast<uint32_t>(field.at("mtu_bytes").integer(68, 65535));
	link.framing_bytes = static_cast<uint32_t>(field.at("framing_bytes").integer(0, 1000));
	link.forward = direction_read(field.at("forward"));
	link.reverse = direction_read(field.at("reverse"));
	return link;
}

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
	return transfer;
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

/// What the JSON library says of a broken text quotes its bytes, whatever they are.
std::string printable(std::string text)
{
	for (char &letter : text)
		if (letter < ' ' || letter > '~')
			letter = '?';
	return text;
}

void check_whole(const Plan &plan)
{
	if (plan.links.empty())
		throw PlanError("links: there is none");
	if (plan.links.size() > most_links)
		throw PlanError("links: " + std::to_string(plan.links.size()) + " are more than " +
				std::to_string(most_links));
	if (plan.nodes.size() != plan.links.size() + 1)
		throw PlanError("nodes: " + std::to_string(plan.links.size()) + " links need " +
				std::to_string(plan.links.size() + 1) + " nodes, not " +
				std::to_string(plan.nodes.size()));
	for (size_t i = 0; i < plan.nodes.size(); i++)
		if (plan.nodes[i].host != (i == 0 || i + 1 == plan.nodes.size()))
			throw PlanError("nodes[" + std::to_string(i) +
					"].kind: the first and the last node are hosts, those "
					"between them routers");
	for (size_t i = 0; i < plan.links.size(); i++)
		if (plan.links[i].a != plan.nodes[i].name ||
		    plan.links[i].b != plan.nodes[i + 1].name)
			throw PlanError("links[" + std::to_string(i) + "]: joins " +
					plan.links[i].a + " and " + plan.links[i].b +
					", but the nodes there are " + plan.nodes[i].name +
					" and " + plan.nodes[i + 1].name);
	const uint32_t least = plan.ip_version == 6 ? 1280 : 576;
	if (plan.mtu_bytes() < least)
		throw PlanError("links: an MTU of " + std::to_string(plan.mtu_bytes()) +
				" B is below the " + std::to_string(least) + " B of IPv" +
				std::to_string(plan.ip_version));
}

} // namespace

uint32_t Plan::mtu_bytes() const
{
	uint32_t least = UINT32_MAX;
	for (const auto &link : links)
		least = std::min(least, link.mtu_bytes);
	return least;
}

int64_t Plan::rtt_ns() const
{
	int64_t sum = 0;
	for (const auto &link : links)
		sum += link.forward.delay_ns + link.reverse.delay_ns;
	return sum;
}

uint32_t Plan::mss_bytes() const
{
	return mtu_bytes() - (ip_version == 6 ? 40 : 20) - 20 - 12;
}

Plan plan_read(const std::string &path)
{
	std::ifstream file(path);
	if (!file)
		throw PlanError("cannot be read");
	Json json;
	try {
		json = Json::parse(file);
	} catch (const Json::exception &error) {
		throw PlanError("is not JSON: " + printable(error.what()));
	}
	const Field field(json, "");
	if (!json.is_object())
		throw PlanError("an object is wanted at the top");
	Plan plan;
	if (field.at("schema_version").integer(1, UINT64_MAX) != 3)
		throw PlanError("schema_version: this program reads version 3");
	plan.scenario = field.at("scenario").text();
	plan.seed = field.at("seed").integer(0, UINT64_MAX);
	const Field version = field.at("ip_version");
	plan.ip_version = version.integer(0, UINT64_MAX) == 6 ? 6 : 4;
	if (version.integer(0, UINT64_MAX) != static_cast<uint64_t>(plan.ip_version))
		version.fail("4 or 6 is wanted");
	plan.fidelity = field.at("fidelity").text();
	for (const auto &item : field.at("nodes").items())
		plan.nodes.push_back(node_read(item));
	for (const auto &item : field.at("links").items())
		plan.links.push_back(link_read(item));
	const auto flows = field.at("flows").items();
	if (flows.size() != 1)
		throw PlanError("flows: " + std::to_string(flows.size()) +
				"; this program simulates one, over a path");
	plan.transfer = transfer_read(flows.front().at("transfer"));
	if (field.has("events"))
		for (const auto &item : field.at("events").items()) {
			plan.events.push_back(event_read(item, plan.links.size()));
			plan.events.back().index = plan.events.size() - 1;
		}
	check_whole(plan);
	return plan;
}

} // namespace landspeed
