/* The thread that has TCP_INFO of all streams read on an absolute time grid. */
#pragma once

#include "base/failure.h"
#include "net/tune.h"
#include "telemetry/intervals.h"
#include "telemetry/live.h"
#include "telemetry/samples.h"
#include "transfer/streams.h"

struct sampler;

struct sampler_plan {
	struct streams *streams;
	enum tune_side side;
	unsigned preamble_bytes; /* before the payload, of what is counted on that side */
	uint64_t interval_ns;
	uint64_t limit_ns;           /* last row at that time; 0: when stopped */
	struct samples *samples;     /* NULL: none are written */
	struct samples *tcp_info;    /* NULL: none are written */
	struct live *live;           /* NULL: none */
	struct intervals *intervals; /* NULL: none are printed */
	uint64_t report_ns;          /* between lines of progress and of intervals */
};

/* What the sampler saw of one stream. */
struct sampler_view {
	struct tcp_info info; /* at the last row */
	uint64_t bytes;       /* payload acknowledged, or taken in */
	uint32_t min_rtt_us;  /* smallest seen; the kernel forgets its own after 300 s */
	uint32_t max_snd_wnd; /* largest window that the peer advertised */
	uint32_t max_rtt_us;
};

/* Starts with the gate of the streams. NULL with the failure set. */
struct sampler *sampler_start(const struct sampler_plan *plan, struct failure *failure);
/* Takes the last row and ends the thread; the gate must be open or cancelled. */
void sampler_stop(struct sampler *sampler);
/* Once the streams' threads are joined: they act for it. */
void sampler_destroy(struct sampler *sampler);

/* Only after sampler_stop. */
const struct sampler_view *sampler_look(const struct sampler *sampler, unsigned index);
/* What writing rows or progress met, or NULL. */
const char *sampler_error(const struct sampler *sampler);
