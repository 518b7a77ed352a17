// Reads plans whose names come on standard input, one a line, and answers each with a line: `ok` or
// `refused: why`.
//
// tests/sim/test_fuzz_plan.py feeds it. It is built with sanitizers, so that a plan which breaks
// the reader ends it.
#include "../src/plan/plan.h"

#include <algorithm>
#include <iostream>

int main()
{
	std::string name;
	while (std::getline(std::cin, name)) {
		std::string answer;
		try {
			const landspeed::Plan plan = landspeed::plan_read(name);
			answer = "ok";
			for (const auto &flow : plan.flows)
				answer += " " + std::to_string(plan.rtt_ns(flow)) + " " +
					  std::to_string(plan.mtu_bytes(flow)) + " " +
					  std::to_string(plan.mss_bytes(flow));
		} catch (const landspeed::PlanError &error) {
			answer = std::string("refused: ") + error.what();
		}
		std::replace(answer.begin(), answer.end(), '\n', ' ');
		std::cout << answer << std::endl;
	}
	return 0;
}
