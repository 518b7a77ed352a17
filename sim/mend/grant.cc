#include "mend/grant.h"

#include <algorithm>

namespace landspeed
{

namespace
{

constexpr uint64_t MAX_TCP_WINDOW = uint64_t{65535} << 14; // RFC 7323 section 2.3
constexpr uint64_t SKB_OVERHEAD_BYTES = 1344;              // landspeed/scenario/theory/physics.py
constexpr uint64_t PAYLOAD_SHARE_STEPS = 256;
constexpr uint64_t LEAST_MEASURED_BYTES = 536;
constexpr uint64_t BUFFER_FACTOR = 2;   // socket(7): SO_RCVBUF, SO_SNDBUF are doubled
constexpr uint32_t QUICK_SEGMENTS = 15; // TCP_MAX_QUICKACKS, less the one that tcp_grow_window sets

uint64_t PayloadShare(uint64_t buffer_bytes, uint32_t mss_bytes)
{
	uint64_t share = PAYLOAD_SHARE_STEPS / 2;
	if (mss_bytes > LEAST_MEASURED_BYTES)
		share = PAYLOAD_SHARE_STEPS * mss_bytes / (mss_bytes + SKB_OVERHEAD_BYTES);
	return buffer_bytes * share / PAYLOAD_SHARE_STEPS;
}

uint32_t BitLength(uint64_t value)
{
	uint32_t bits = 0;
	for (; value > 0; value >>= 1)
		++bits;
	return bits;
}

} // namespace

uint32_t GrantedReceiveWindow(uint64_t asked_bytes, uint32_t mss_bytes)
{
	const uint64_t usable = PayloadShare(BUFFER_FACTOR * asked_bytes, mss_bytes);
	uint32_t bits = std::clamp(BitLength(asked_bytes), 16U, 30U);
	return static_cast<uint32_t>(
	    std::min({MAX_TCP_WINDOW, uint64_t{65535} << (bits - 16), usable}));
}

uint32_t GrantedSendBuffer(uint64_t asked_bytes, uint32_t mss_bytes)
{
	uint64_t usable =
	    std::max(asked_bytes, PayloadShare(BUFFER_FACTOR * asked_bytes, mss_bytes));
	return static_cast<uint32_t>(std::min<uint64_t>(usable, UINT32_MAX / 2));
}

uint32_t AutotunedReceiveWindow(uint64_t ceiling_bytes, uint32_t mss_bytes)
{
	return static_cast<uint32_t>(
	    std::min(MAX_TCP_WINDOW, PayloadShare(ceiling_bytes, mss_bytes)));
}

uint32_t AcknowledgedSingly(uint64_t asked_bytes, uint32_t granted_bytes, uint32_t mss_bytes)
{
	const uint64_t grown = granted_bytes - std::min<uint64_t>(asked_bytes, granted_bytes);
	const uint64_t step = uint64_t{2} * mss_bytes;
	return static_cast<uint32_t>((grown + step - 1) / step) + QUICK_SEGMENTS;
}

} // namespace landspeed
