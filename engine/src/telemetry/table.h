/* The end of a transfer as NTttcp printed it: a row per thread, then the totals of one host. */
#pragma once

#include "base/limits.h"
#include "telemetry/goodput.h"
#include "telemetry/host.h"

#include <stdio.h>

/* Decimal units throughout, as in the record of 2004: KB are 1000 bytes, a MEG is a million. */
struct table {
	const char *end; /* "sender" or "receiver" */
	unsigned threads;
	struct goodput thread[STREAMS_LIMIT];
	struct goodput whole;
	uint64_t buffers;         /* system calls that moved payload */
	uint64_t payload_packets; /* packets of the direction that carried the payload */
	uint64_t packets_sent;
	uint64_t packets_received;
	uint64_t retransmits;
	uint64_t errors;
	struct host_usage host;
};

void table_print(FILE *file, const struct table *table);
