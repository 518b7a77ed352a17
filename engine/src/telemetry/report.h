/* What both ends know of a session, and the JSON made of it. */
#pragma once

#include "base/usage.h"
#include "control/message.h"
#include "payload/verify.h"
#include "telemetry/goodput.h"
#include "telemetry/host.h"
#include "telemetry/sampler.h"
#include "transfer/streams.h"

/* The receiver's account of one stream; times since the receiver's start of the transfer. */
struct stream_report {
	uint64_t bytes;
	uint64_t early_bytes; /* of them, not counted in the goodput (goodput.h) */
	uint64_t first_ns;
	uint64_t last_ns;
	uint64_t calls;  /* reads that brought payload */
	uint64_t cpu_ns; /* of its thread */
	cJSON *tcp_info; /* an object */
	bool checked;    /* receive mode verify: */
	struct verify_report verified;
};

/* The receiver's account of a transfer, as it travels in MESSAGE_RESULT. */
struct receiver_report {
	bool complete;
	cJSON *files;       /* of a file transfer, else NULL */
	char error[512];    /* empty for none */
	char affinity[384]; /* where the threads ran, and why */
	uint64_t start_unix_ns;
	uint64_t duration_ns; /* first byte to last byte read; the time limit when that ended it */
	uint64_t bytes;
	uint64_t early_bytes;   /* of them, not counted in the goodput (goodput.h) */
	uint64_t omitted_bytes; /* read in the warm-up, and not counted in `bytes` */
	uint64_t rcvbuf_bytes;
	uint64_t packets_received;
	struct cpu_usage cpu;
	struct host_usage host;
	unsigned streams;
	struct stream_report stream[STREAMS_LIMIT];
};

cJSON *receiver_report_encode(const struct receiver_report *report);
/* The report keeps copies; release it with receiver_report_clear. */
int receiver_report_decode(const cJSON *message, unsigned streams, struct receiver_report *report,
			   struct failure *failure);
void receiver_report_clear(struct receiver_report *report);
/* When the last byte was read, by the receiver's calendar. */
uint64_t receiver_report_end_unix_ns(const struct receiver_report *report);

/* {"version": ..., "build": ...} */
cJSON *engine_json(void);
cJSON *cpu_json(const struct cpu_usage *usage);
