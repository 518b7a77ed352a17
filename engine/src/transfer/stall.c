#include "transfer/stall.h"

void stall_start(struct stall *stall, uint64_t limit_ns, uint64_t moved, uint64_t now_ns)
{
	*stall = (struct stall){.limit_ns = limit_ns, .moved = moved, .moved_ns = now_ns};
}

void stall_excuse(struct stall *stall, uint64_t now_ns)
{
	stall->moved_ns = now_ns;
}

void stall_demand(struct stall *stall, uint64_t rate_bps)
{
	stall->least = (uint64_t)((double)rate_bps / 8 * (double)stall->limit_ns / 1e9);
}

uint64_t stall_look_ns(const struct stall *stall, uint64_t now_ns)
{
	return now_ns + stall->limit_ns / 4;
}

bool stall_look(struct stall *stall, uint64_t moved, uint64_t now_ns)
{
	if (moved != stall->moved && moved - stall->moved >= stall->least) {
		stall->moved = moved;
		stall->moved_ns = now_ns;
	}
	return now_ns - stall->moved_ns >= stall->limit_ns;
}
