#include "plan.h"

#include "parts.h"

#include <algorithm>
#include <fstream>
#include <set>

namespace landspeed
{

namespace
{

constexpr size_t most_links = 2000,
		 most_flows = 1000; // as landspeed/scenario/file/model.py has them

/// What the JSON library says of a broken text quotes its bytes, whatever they are.
std::string printable(std::string text)
{
	for (char &letter : text)
		if (letter < ' ' || letter > '~')
			letter = '?';
	return text;
}

void check_count(const char *what, size_t count, size_t most)
{
	if (count == 0)
		throw PlanError(std::string(what) + ": there is none");
	if (count > most)
		throw PlanError(std::string(what) + ": " + std::to_string(count) +
				" are more than " + std::to_string(most));
}

/// What several parts must agree on.
void check_whole(const Plan &plan)
{
	const uint32_t least = plan.ip_version == 6 ? 1280 : 576;
	for (const auto &flow : plan.flows)
		if (plan.mtu_bytes(flow) < least)
			throw PlanError("links: an MTU of " + std::to_string(plan.mtu_bytes(flow)) +
					" B is below the " + std::to_string(least) + " B of IPv" +
					std::to_string(plan.ip_version));
}

void read_nodes(const Field &field, Plan &plan)
{
	std::set<std::string> names;
	for (const auto &item : field.items()) {
		plan.nodes.push_back(node_read(item));
		if (!names.insert(plan.nodes.back().name).second)
			item.fail("another node has the name " + plan.nodes.back().name);
	}
}

} // namespace

size_t Plan::end(const Step &step) const
{
	return step.ahead ? links[step.link].b : links[step.link].a;
}

uint32_t Plan::mtu_bytes(const Flow &flow, bool ahead) const
{
	const auto &way = ahead ? flow.route : flow.back;
	const auto &other = ahead ? flow.back : flow.route;
	uint32_t least = links[other.front().link].mtu_bytes;
	for (const auto &step : way)
		least = std::min(least, links[step.link].mtu_bytes);
	return least;
}

int64_t Plan::rtt_ns(const Flow &flow) const
{
	int64_t sum = 0;
	for (const auto &way : {flow.route, flow.back})
		for (const auto &[link, ahead] : way)
			sum += (ahead ? links[link].forward : links[link].reverse).delay_ns;
	return sum;
}

int64_t Plan::idle_ns() const
{
	constexpr int64_t echoes = 20, second_ns = 1'000'000'000;
	int64_t longest_ns = 0;
	for (const auto &flow : flows)
		if (flow.transfer.ping_interval_ns)
			longest_ns = std::max(longest_ns, echoes * flow.transfer.ping_interval_ns +
							      2 * rtt_ns(flow));
	return (longest_ns + second_ns - 1) / second_ns * second_ns;
}

uint32_t Plan::mss_bytes(const Flow &flow) const
{
	return mtu_bytes(flow) - (ip_version == 6 ? 40 : 20) - 20 - 12;
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
	if (field.at("schema_version").integer(1, UINT64_MAX) != 4)
		throw PlanError("schema_version: this program reads version 4");
	plan.scenario = field.at("scenario").text();
	plan.seed = field.at("seed").integer(0, UINT64_MAX);
	const Field version = field.at("ip_version");
	plan.ip_version = version.integer(0, UINT64_MAX) == 6 ? 6 : 4;
	if (version.integer(0, UINT64_MAX) != static_cast<uint64_t>(plan.ip_version))
		version.fail("4 or 6 is wanted");
	plan.fidelity = field.at("fidelity").text();
	read_nodes(field.at("nodes"), plan);
	const auto links = field.at("links").items(), flows = field.at("flows").items();
	check_count("links", links.size(), most_links);
	check_count("flows", flows.size(), most_flows);
	for (const auto &item : links)
		plan.links.push_back(link_read(item, plan.nodes));
	for (const auto &item : flows)
		plan.flows.push_back(flow_read(item, plan));
	if (field.has("events"))
		for (const auto &item : field.at("events").items()) {
			plan.events.push_back(event_read(item, plan.links.size()));
			plan.events.back().index = plan.events.size() - 1;
		}
	check_whole(plan);
	return plan;
}

} // namespace landspeed
