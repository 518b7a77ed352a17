/*
 * The bytes that are sent: one memory file, filled once and never written again, so that pages in
 * flight are shared by all streams and cannot change under a retransmission.
 */
#ifndef LANDSPEED_PAYLOAD_H
#define LANDSPEED_PAYLOAD_H

#include "failure.h"

#include <stdint.h>

#define PAYLOAD_BYTES (UINT64_C(32) << 20)

/* A file descriptor of PAYLOAD_BYTES pseudo-random bytes, or -1. */
int payload_open(struct failure *failure);

#endif
