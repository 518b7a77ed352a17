/* Was the window large enough? Pure arithmetic and words. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Largest window TCP can announce: 65535 << 14 rounds up to 1 GiB in every setsockopt. */
#define WINDOW_LIMIT_BYTES (UINT64_C(1) << 30)

struct window_facts {
	uint64_t asked_bytes;  /* 0: autotuning */
	uint64_t sndbuf_bytes; /* as read back, doubled by the kernel */
	uint64_t rcvbuf_bytes;
	uint64_t advertised_bytes; /* largest window that the sender saw on offer */
	uint64_t min_rtt_us;
	uint64_t srtt_us;            /* smallest of the streams at the end */
	uint64_t stream_goodput_bps; /* of the fastest stream */
	uint64_t goodput_bps;        /* of all */
	uint64_t busy_us;            /* over all streams */
	uint64_t rwnd_limited_us;
	uint64_t sndbuf_limited_us;
};

/*
 * SO_SNDBUF to ask for, so that a window of that size can be in flight: the kernel wakes a blocked
 * writer only when a third of the buffer is free, and counts its own overhead in the buffer.
 */
uint64_t window_sndbuf_ask(uint64_t window_bytes);
/* What of the asked window a send buffer, as read back, keeps in flight: all of it, or its half. */
uint64_t window_sender_grant(uint64_t asked_bytes, uint64_t sndbuf_bytes);
/* goodput x RTT */
uint64_t window_bdp_bytes(uint64_t goodput_bps, uint64_t rtt_us);
/* What should be changed, or an empty text. */
void window_warning(const struct window_facts *facts, char *text, size_t size);
