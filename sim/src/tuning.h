// Buffers and TCP settings, as Linux would have them for the plan.
#pragma once

#include "plan.h"

#include <cstdint>

namespace landspeed
{

struct Tuning {
	uint64_t receive_buffer_bytes = 0; ///< the window that the receiver offers
	uint64_t send_buffer_bytes = 0;
};

/// What Linux is likely to make of the window asked for (scenarios/physics.py,
/// linux_usable_window_bytes).
Tuning tuning_of(const Plan &plan);

/// What a stream may have waiting in its own host: a millisecond of the host's rate, shared
/// equally, as with Linux's TCP small queues over fq; never less than four packets.
uint64_t host_queue_bytes(const Plan &plan);

/// Sets ns-3's defaults for the sockets made from now on.
void tuning_apply(const Plan &plan, const Tuning &tuning);

} // namespace landspeed
