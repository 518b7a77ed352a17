// What the tests of the mends have in common. A program has several tests; the command line names
// the one to run. Exit status: 0 if it holds, 1 if not.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <sys/resource.h>

inline void Check(bool holds, const char *what, double is, double should_be)
{
	std::printf("%s %s: %.9g (%.9g)\n", holds ? "ok  " : "FAIL", what, is, should_be);
	if (!holds)
		std::exit(1);
}

inline void CheckEqual(const char *what, double is, double should_be)
{
	Check(is == should_be, what, is, should_be);
}

inline void CheckNear(const char *what, double is, double should_be, double tolerance)
{
	Check(std::abs(is / should_be - 1) <= tolerance, what, is, should_be);
}

inline void CheckAtMost(const char *what, double is, double limit)
{
	Check(is <= limit, what, is, limit);
}

inline double ProcessorSeconds()
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	auto seconds = [](const timeval &time) {
		return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
	};
	return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

inline int RunTest(int argc, char **argv, const std::map<std::string, std::function<void()>> &tests)
{
	auto test = argc == 2 ? tests.find(argv[1]) : tests.end();
	if (test == tests.end()) {
		std::fprintf(stderr, "usage: %s TEST; it has:\n", argv[0]);
		for (const auto &each : tests)
			std::fprintf(stderr, "  %s\n", each.first.c_str());
		return 2;
	}
	test->second();
	return 0;
}
