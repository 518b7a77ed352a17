#pragma once

#include <cstdint>

namespace landspeed
{

// What Linux makes of a socket buffer that was asked for. The same formula as
// linux_usable_window_bytes in landspeed/scenario/theory/physics.py, where the sources are; both
// say what was seen of Linux, not what a standard asks.

// Usable window when SO_RCVBUF was set to `asked_bytes`: twice that times the payload's share of
// what a packet is charged for; not above what the window scale chosen from the figure asked can
// say, 65535 · 2^(⌊log2 asked⌋ − 15).
uint32_t GrantedReceiveWindow(uint64_t asked_bytes, uint32_t mss_bytes);

// Unacknowledged bytes that SO_SNDBUF set to `asked_bytes` holds: doubled, with the same share.
uint32_t GrantedSendBuffer(uint64_t asked_bytes, uint32_t mss_bytes);

// Largest window without SO_RCVBUF, when tcp_rmem ends at `ceiling_bytes`: the payload's share of
// it.
uint32_t AutotunedReceiveWindow(uint64_t ceiling_bytes, uint32_t mss_bytes);

// Segments at the beginning that are acknowledged one by one: while each makes what is offered grow
// by two, from the half of the buffer that was asked for to `granted_bytes`, and fifteen more.
uint32_t AcknowledgedSingly(uint64_t asked_bytes, uint32_t granted_bytes, uint32_t mss_bytes);

} // namespace landspeed
