#include "net/packet.h"

/* GSO_LEGACY_MAX_SIZE of the kernel: what a device has unless somebody sets more (BIG TCP). */
#define GSO_DEFAULT_BYTES UINT32_C(65536)
/* MAX_TCP_HEADER + 1, which sk_setup_caps() takes off: 320 with all kinds of tunnels, else less. */
#define HEADER_BYTES UINT32_C(321)

uint32_t packet_bytes(uint32_t mss_bytes, uint32_t gso_bytes, uint32_t most)
{
	uint32_t limit = gso_bytes != 0 ? gso_bytes : GSO_DEFAULT_BYTES;
	limit = limit > HEADER_BYTES ? limit - HEADER_BYTES : 0;
	if (limit > most)
		limit = most;
	if (mss_bytes == 0 || limit / mss_bytes < 2)
		return 0;
	return limit - limit % mss_bytes;
}
