/* The time series on disk: one CSV row per stream and interval, integers or nothing. */
#pragma once

#include "base/failure.h"
#include "net/tcpinfo.h"

struct samples;

struct sample {
	uint64_t time_ns; /* since the transfer's start */
	unsigned stream;
	uint64_t bytes; /* payload: acknowledged to the sender, or taken in by the receiver */
	const struct tcp_info *info;
};

enum samples_format {
	SAMPLES_SERIES,   /* what reports are made of, the same columns on every kernel */
	SAMPLES_TCP_INFO, /* all of TCP_INFO under the kernel's names; empty where it is older */
};

/* Creates or empties the file and writes the header row. NULL with the failure set. */
struct samples *samples_open(const char *path, enum samples_format format, struct failure *failure);
/* Would that many more rows have those before them written? */
bool samples_due(const struct samples *samples, unsigned rows);
/* Begins the rows of one point in time, which samples_withdraw can take back. */
int samples_begin(struct samples *samples, unsigned rows, struct failure *failure);
/* Forgets the rows since samples_begin. */
void samples_withdraw(struct samples *samples);
/* Rows are kept as they are, and made text and written about once a second of the transfer. */
int samples_add(struct samples *samples, const struct sample *sample, struct failure *failure);
int samples_close(struct samples *samples, struct failure *failure);
