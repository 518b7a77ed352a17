/*
 * The bytes that are sent when they are not made on the way: one memory file, filled once and never
 * written again, so that pages in flight are shared by all streams and cannot change under a
 * retransmission.
 */
#pragma once

#include "base/failure.h"
#include "payload/buffer.h"

#include <stdbool.h>

#include <stdint.h>

#define PAYLOAD_BYTES (UINT64_C(32) << 20)

struct payload {
	int fd;
	uint64_t seed;        /* of the bytes */
	bool blank;           /* they are zeros */
	const uint8_t *bytes; /* mapped for reading; NULL until payload_map or payload_huge */
	struct buffer huge;   /* the same bytes in huge pages; empty unless payload_huge */
};

/* PAYLOAD_BYTES pseudo-random bytes of that seed (generator.h). 0 or -1. */
int payload_open(struct payload *payload, uint64_t seed, struct failure *failure);
/*
 * In a virtual machine memory is dear to touch, and nobody reads what is sent. Who starts senders
 * there gives all of them one memory file (memfd_create(2) with MFD_ALLOW_SEALING) by a descriptor
 * whose number is in LANDSPEED_PAYLOAD. -1: nobody did.
 */
int payload_given(void);
/* PAYLOAD_BYTES zeros in that file, which have no memory: it is sized and sealed. 0 or -1. */
int payload_share(struct payload *payload, int given, struct failure *failure);
/* For the ways of sending that take memory, not a file. */
int payload_map(struct payload *payload, struct failure *failure);
/*
 * The same bytes once more in huge pages, read-only from then on: a pipe takes them with a fraction
 * of the work that pages of 4 KiB are. False where there are none.
 */
bool payload_huge(struct payload *payload);
void payload_close(struct payload *payload);
