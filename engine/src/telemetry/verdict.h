/* What limited a stream? Pure arithmetic and words. */
#pragma once

#include "telemetry/limit_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One stream, as both ends' kernels account for it. */
struct verdict_facts {
	uint64_t duration_ns;
	uint64_t goodput_bps;
	uint64_t pacing_bps; /* 0: none */
	uint64_t busy_us;    /* something to send, and what held it back meanwhile */
	uint64_t rwnd_limited_us;
	uint64_t sndbuf_limited_us;
	uint64_t window_bytes; /* largest on offer */
	uint64_t sndbuf_bytes;
	uint64_t retransmits;
	uint64_t packets; /* with payload, sent */
	uint32_t min_rtt_us;
	uint32_t srtt_us;
	uint64_t sender_cpu_ns; /* of the stream's thread */
	uint64_t receiver_cpu_ns;
	double sender_host_percent; /* of all processors; negative when unknown */
	double receiver_host_percent;
};

const char *limit_name(enum limit limit);
/* The limit, and one line of text with the figures that say so. */
enum limit verdict_find(const struct verdict_facts *facts, char *text, size_t size);
