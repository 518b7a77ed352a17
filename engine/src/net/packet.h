/*
 * What TCP hands to a device at once: as many whole segments as go into one packet before the
 * device, or the kernel in its place, segments it. Who gives the socket just that much at a time
 * causes one packet; who gives it 64 KiB causes two, of which the second is nearly empty and costs
 * as much.
 */
#pragma once

#include <stdint.h>

/* Of single pages: Linux has 17 of them in a packet at most (MAX_SKB_FRAGS). */
#define PACKET_PAGES_BYTES UINT32_C(65536)

/*
 * Payload bytes of such a packet, at most `most`; 0 where none is known that is worth the name: no
 * segment size, or less than two segments. `gso_bytes`: the device's limit, 0: Linux's default.
 */
uint32_t packet_bytes(uint32_t mss_bytes, uint32_t gso_bytes, uint32_t most);
