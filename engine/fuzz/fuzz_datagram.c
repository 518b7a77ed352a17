/*
 * Datagrams of anybody: 40 bytes each of the input. What has a right tag is counted; the first
 * input byte of a datagram that has none makes one of it, so that counting is reached.
 */
#include "base/wire.h"
#include "probe/datagram.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t secret[SECRET_BYTES] = "0123456789abcdefghijklmnopqrstu";

static void counts_check(const struct arrivals *arrivals, uint64_t taken)
{
	if (arrivals->received + arrivals->duplicates != taken ||
	    arrivals->reordered > arrivals->received || arrivals->late > arrivals->reordered)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct arrivals arrivals;
	uint64_t taken = 0;
	arrivals = (struct arrivals){0};
	for (; size >= DATAGRAM_HEAD_BYTES;
	     data += DATAGRAM_HEAD_BYTES, size -= DATAGRAM_HEAD_BYTES) {
		struct datagram datagram;
		if (!datagram_decode(data, DATAGRAM_HEAD_BYTES, secret, &datagram)) {
			(void)wire_get_u64(wire_get_u64(data + 8, &datagram.number),
					   &datagram.sent_ns);
			if ((data[0] & 1) != 0 || datagram.number >= DATAGRAM_NUMBERS)
				continue;
		}
		arrivals_take(&arrivals, &datagram, datagram.sent_ns + data[39]);
		taken++;
	}
	struct datagram rest;
	(void)datagram_decode(data, size, secret, &rest);
	counts_check(&arrivals, taken);
	return 0;
}
