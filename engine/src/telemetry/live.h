/* Progress: a JSON object per line and interval. */
#pragma once

#include "base/failure.h"

#include <stdint.h>

struct live;

/* What one stream is at; counts since the start. */
struct live_stream {
	uint64_t bytes;
	uint64_t retransmits;
	uint64_t cwnd_packets;
	uint64_t mss_bytes;
	uint64_t srtt_us;
	uint64_t delivery_rate_bps;
	uint64_t busy_us;
	uint64_t rwnd_limited_us;
	uint64_t sndbuf_limited_us;
};

/* "-" is standard output. NULL with the failure set. */
struct live *live_open(const char *path, struct failure *failure);
/* The line of time 0, written when the transfer starts: it alone has `start_monotonic_ns`, so that
 * another program can act at a time of the transfer. */
int live_start(struct live *live, uint64_t start_ns, unsigned streams_open,
	       struct failure *failure);
/* `streams` points to `count` of them. */
int live_write(struct live *live, uint64_t time_ns, const struct live_stream *streams,
	       unsigned count, unsigned streams_open, struct failure *failure);
int live_close(struct live *live, struct failure *failure);
