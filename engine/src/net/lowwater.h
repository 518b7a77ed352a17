/* How many bytes a reader sleeps for (SO_RCVLOWAT); pure arithmetic. */
#pragma once

#include <stdint.h>

struct low_water_input {
	uint64_t rcvbuf_bytes; /* as the kernel reads it back */
	uint64_t window_bytes; /* window on offer now; 0 when the kernel does not tell */
	uint64_t rtt_us;       /* without queues; 0 when unknown */
	uint64_t bytes;        /* read within ... */
	uint64_t elapsed_ns;
};

/*
 * Unread bytes are taken off the window on offer. Where the window is larger than what is in
 * flight, sleeping for a part of the spare room costs nothing; where the window limits the
 * transfer every unread byte slows it, so that the mark falls to 1/128 of the window.
 */
uint64_t low_water_choose(const struct low_water_input *input);
