// landspeed-sim PLAN.json OUTDIR [--collapse] [--scheduler NAME]; landspeed-sim --version
//
// Simulates a plan in ns-3 and writes samples and a result into a folder; see sim/README.md.
#include "flows.h"
#include "layout.h"
#include "network.h"
#include "pings.h"
#include "progress.h"
#include "result.h"
#include "sampler.h"
#include "tuning.h"

#include <iostream>
#include <map>
#include <ns3/rng-seed-manager.h>
#include <ns3/simulator.h>
#include <sys/resource.h>

namespace
{

using namespace landspeed;
using ns3::Simulator;

constexpr char usage[] = "usage: landspeed-sim PLAN.json OUTDIR [--collapse] [--scheduler "
			 "map|heap|priority-queue|list|calendar]";

struct UsageError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct Options {
	std::string plan, folder;
	bool collapse = false, whole_stack = false;
	std::string scheduler = "priority-queue"; // the cheapest: docs/explanation/sim-cost.md
};

const std::map<std::string, std::string> schedulers = {
    {"map", "ns3::MapScheduler"},
    {"heap", "ns3::HeapScheduler"},
    {"priority-queue", "ns3::PriorityQueueScheduler"},
    {"list", "ns3::ListScheduler"},
    {"calendar", "ns3::CalendarScheduler"}};

Options options_read(const std::vector<std::string> &words)
{
	Options options;
	std::vector<std::string> places;
	for (size_t i = 0; i < words.size(); i++) {
		if (words[i] == "--collapse")
			options.collapse = true;
		else if (words[i] == "--whole-stack")
			options.whole_stack = true;
		else if (words[i] == "--scheduler" && i + 1 < words.size())
			options.scheduler = words[++i];
		else if (words[i].rfind("--", 0) == 0)
			throw UsageError("'" + words[i] + "' is not understood; " + usage);
		else
			places.push_back(words[i]);
	}
	if (places.size() != 2)
		throw UsageError(usage);
	if (schedulers.count(options.scheduler) == 0)
		throw UsageError("--scheduler: there is no '" + options.scheduler + "'; " + usage);
	options.plan = places[0];
	options.folder = places[1];
	return options;
}

/// Each flow has two files open.
void allow_files()
{
	rlimit limit{};
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit); // refused: opening a file will say so
}

int simulate(const Options &options)
{
	allow_files();
	const Plan plan = plan_read(options.plan);
	check_tcp(plan);
	stop_on_signals();
	Simulator::SetScheduler(ns3::ObjectFactory(schedulers.at(options.scheduler)));
	// ns-3's nodes take defaults when they are made; what differs between flows, their sockets
	// take.
	(void)tcp_settle(plan, plan.flows.front());
	const Layout layout(plan);
	// RED and PIE draw ns-3's numbers, as many of its runs as there are seeds; the first is
	// ns-3's.
	const uint64_t first_run = ns3::RngSeedManager::GetRun();
	ns3::RngSeedManager::SetRun(plan.seed);
	Network network(plan, layout, options.collapse);
	ns3::RngSeedManager::SetRun(first_run);
	Flows flows(plan, network, options.whole_stack);
	Pings pings(plan, network, flows);
	Sampler sampler(options.folder, plan, network, flows);
	flows.began = [&sampler](size_t flow) { sampler.begin(flow); };
	flows.ended = [&sampler](size_t flow) { sampler.end(flow); };
	Outcome outcome;
	outcome.scheduler = options.scheduler;
	outcome.collapse = options.collapse;
	Progress progress(flows);
	progress.begin();
	try {
		Simulator::Run();
		outcome.error = flows.error();
	} catch (const std::exception &error) {
		outcome.error = error.what();
	}
	if (stop_signal() != 0 && !flows.complete())
		outcome.error = "stopped by signal " + std::to_string(stop_signal());
	outcome.complete = flows.complete() && outcome.error.empty();
	sampler.finish();
	pings.write(options.folder);
	progress.finish();
	outcome.wall_s = progress.wall_s();
	outcome.cpu_s = cpu_s();
	outcome.events = Simulator::GetEventCount();
	outcome.simulated_ns = flows.time_ns();
	result_write(options.folder, plan, layout, network, flows, outcome);
	if (!outcome.error.empty())
		std::cerr << "landspeed-sim: " << outcome.error << '\n';
	return outcome.complete ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
	std::string place;
	try {
		if (argc == 2 && std::string(argv[1]) == "--version") {
			std::cout << "landspeed-sim " LANDSPEED_VERSION " (ns-3 " NS3_VERSION_TEXT
				     ")\n";
			return 0;
		}
		const Options options = options_read({argv + 1, argv + argc});
		place = options.plan;
		const int status = simulate(options);
		std::cout.flush();
		// The system takes the memory back faster than a million destructors.
		std::_Exit(status);
	} catch (const UsageError &error) {
		std::cerr << "landspeed-sim: " << error.what() << '\n';
		return 2;
	} catch (const PlanError &error) {
		std::cerr << "landspeed-sim: " << place << ": " << error.what() << '\n';
		return 2;
	} catch (const std::exception &error) {
		std::cerr << "landspeed-sim: " << error.what() << '\n';
		return 1;
	}
}
