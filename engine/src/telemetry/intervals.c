#include "telemetry/intervals.h"

#include <inttypes.h>
#include <stdlib.h>

struct intervals {
	FILE *file;
	unsigned streams;
	unsigned lines;
	uint64_t time_ns; /* of the lines before */
	struct live_stream before[];
};

/* iperf's units: bytes by 1024, bits by 1000, three figures. */
#define AMOUNT_BYTES 24

static void amount_text(char text[AMOUNT_BYTES], double value, double step, const char *unit)
{
	static const char *const prefixes[] = {"", "K", "M", "G", "T", "P"};
	unsigned prefix = 0;
	while (value >= step && prefix < 5) {
		value /= step;
		prefix++;
	}
	int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	(void)snprintf(text, AMOUNT_BYTES, "%.*f %s%s", digits, value, prefixes[prefix], unit);
}

struct intervals *intervals_create(FILE *file, unsigned streams)
{
	struct intervals *intervals =
	    calloc(1, sizeof(*intervals) + streams * sizeof(intervals->before[0]));
	if (intervals == NULL)
		return NULL;
	intervals->file = file;
	intervals->streams = streams;
	return intervals;
}

void intervals_destroy(struct intervals *intervals)
{
	free(intervals);
}

static double rate_bps(uint64_t bytes, uint64_t duration_ns)
{
	return duration_ns != 0 ? (double)bytes * 8e9 / (double)duration_ns : 0.0;
}

static void line_begin(FILE *file, const char *name, uint64_t from_ns, uint64_t to_ns,
		       uint64_t bytes, double bps)
{
	char amount[AMOUNT_BYTES];
	char rate[AMOUNT_BYTES] = "n/a";
	amount_text(amount, (double)bytes, 1024.0, "Bytes");
	if (bps >= 0.0)
		amount_text(rate, bps, 1000.0, "bits/sec");
	(void)fprintf(file, "[%s] %7.2f-%-7.2f sec  %12s  %15s", name, (double)from_ns / 1e9,
		      (double)to_ns / 1e9, amount, rate);
}

/* What was acknowledged within an interval. */
static void interval_begin(FILE *file, const char *name, uint64_t from_ns, uint64_t to_ns,
			   uint64_t bytes)
{
	line_begin(file, name, from_ns, to_ns, bytes, rate_bps(bytes, to_ns - from_ns));
}

static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void stream_print(struct intervals *intervals, unsigned index, uint64_t time_ns,
			 const struct live_stream *now)
{
	char name[12];
	char cwnd[AMOUNT_BYTES];
	const struct live_stream *before = &intervals->before[index];
	(void)snprintf(name, sizeof(name), "%3u", index);
	amount_text(cwnd, (double)(now->cwnd_packets * now->mss_bytes), 1024.0, "Bytes");
	interval_begin(intervals->file, name, intervals->time_ns, time_ns,
		       grown(now->bytes, before->bytes));
	(void)fprintf(intervals->file, "  %6" PRIu64 "  %12s  %10.3f ms\n",
		      grown(now->retransmits, before->retransmits), cwnd,
		      (double)now->srtt_us / 1e3);
}

void intervals_print(struct intervals *intervals, uint64_t time_ns,
		     const struct live_stream *streams)
{
	FILE *file = intervals->file;
	uint64_t bytes = 0;
	uint64_t retransmits = 0;
	if (time_ns <= intervals->time_ns)
		return;
	if (intervals->lines++ == 0)
		(void)fprintf(file, "[ ID] Interval             Transfer          Bitrate        "
				    "  Retr          Cwnd           RTT\n");
	for (unsigned i = 0; i < intervals->streams; i++) {
		bytes += grown(streams[i].bytes, intervals->before[i].bytes);
		retransmits += grown(streams[i].retransmits, intervals->before[i].retransmits);
		stream_print(intervals, i, time_ns, &streams[i]);
		intervals->before[i] = streams[i];
	}
	if (intervals->streams > 1) {
		interval_begin(file, "SUM", intervals->time_ns, time_ns, bytes);
		(void)fprintf(file, "  %6" PRIu64 "\n", retransmits);
	}
	intervals->time_ns = time_ns;
	/* Whoever watches sees whole intervals. */
	(void)fflush(file);
}

void intervals_total(FILE *file, const struct goodput *whole, uint64_t retransmits, const char *end)
{
	uint64_t bps = goodput_bps(whole);
	line_begin(file, "SUM", 0, whole->duration_ns, whole->bytes,
		   bps != 0 || whole->bytes == 0 ? (double)bps : -1.0);
	(void)fprintf(file, "  %6" PRIu64 "  %s\n", retransmits, end);
}
