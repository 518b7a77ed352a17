// Prints what is granted of each figure asked: test_grant MSS ASKED…. tests/sim/test_mend.py
// compares it with the plan's.

#include "mend/grant.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv)
{
	if (argc < 3) {
		std::fprintf(stderr, "usage: %s MSS ASKED…\n", argv[0]);
		return 2;
	}
	auto mss = static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10));
	for (int index = 2; index < argc; ++index)
		std::printf("%u\n", landspeed::GrantedReceiveWindow(
					std::strtoull(argv[index], nullptr, 10), mss));
	return 0;
}
