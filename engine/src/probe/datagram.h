/*
 * A datagram, and what became of many. Pure: no I/O, no clock.
 *
 *   magic and version (8 bytes), number (8), time sent (8, ns since 1970), tag (16), zeros
 *
 * The tag (BLAKE2b under the session's secret) covers the three before it: nobody else's datagrams
 * are counted. Integers are big-endian.
 */
#pragma once

#include "control/hello.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATAGRAM_HEAD_BYTES 40
#define DATAGRAM_NUMBERS    (UINT64_C(1) << 53)
/* What comes later than that many others is late; whether it came twice nobody knows then. */
#define ARRIVALS_WINDOW (UINT64_C(1) << 20)

struct datagram {
	uint64_t number; /* from 0 on */
	uint64_t sent_ns;
};

void datagram_encode(const struct datagram *datagram, const uint8_t secret[SECRET_BYTES],
		     uint8_t bytes[DATAGRAM_HEAD_BYTES]);
/* False when it is none of that session. */
bool datagram_decode(const uint8_t *bytes, size_t count, const uint8_t secret[SECRET_BYTES],
		     struct datagram *datagram);

struct arrivals {
	uint64_t received;   /* each once */
	uint64_t duplicates; /* the same once more */
	uint64_t reordered;  /* after one that was sent later (RFC 4737, Type-P-Reordered) */
	uint64_t late;       /* of them those behind the window, counted as received */
	uint64_t next;       /* above the highest number that came */
	double jitter_ns;    /* RFC 3550, appendix A.8: forgets a sixteenth at each */
	double changes_ns;   /* sum of what it is a mean of: how much one is later than the last */
	int64_t transit_ns;  /* of the last one, by two clocks */
	uint64_t seen[ARRIVALS_WINDOW / 64];
};

/* One has come at that time (ns since 1970, of the receiver's clock). */
void arrivals_take(struct arrivals *arrivals, const struct datagram *datagram, uint64_t came_ns);
