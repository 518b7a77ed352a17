#include "telemetry/verdict.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const names[] = LIMIT_NAMES;

const char *limit_name(enum limit limit)
{
	return names[limit];
}

static double share(uint64_t part_us, uint64_t whole_us)
{
	return whole_us != 0 ? (double)part_us / (double)whole_us : 0.0;
}

static bool cpu_full(uint64_t cpu_ns, uint64_t duration_ns, double host_percent)
{
	return share(cpu_ns, duration_ns) >= FULL_THREAD_SHARE ||
	       (host_percent >= FULL_HOST_PERCENT && share(cpu_ns, duration_ns) >= LARGE_SHARE / 2);
}

static enum limit cpu_say(enum limit limit, uint64_t cpu_ns, uint64_t duration_ns,
			  double host_percent, char *text, size_t size)
{
	const char *end = limit == LIMIT_SENDER_PROCESSOR ? "sender" : "receiver";
	double part = share(cpu_ns, duration_ns);
	if (part >= FULL_THREAD_SHARE)
		(void)snprintf(text, size, "the %s's thread computed %.0f %% of the time", end,
			       part * 100);
	else
		(void)snprintf(text, size,
			       "the processors of the %s's host were %.0f %% busy; the thread got "
			       "%.0f %% of the time",
			       end, host_percent, part * 100);
	return limit;
}

/* A queue on the path holds what a window or a buffer allows: then the line may be the limit. */
static bool queue_stood(const struct verdict_facts *facts)
{
	return facts->min_rtt_us != 0 && (double)facts->srtt_us > facts->min_rtt_us * QUEUE_FACTOR;
}

static enum limit end_or_line_say(const struct verdict_facts *facts, const char *what, double part,
				  char *text, size_t size)
{
	(void)snprintf(text, size,
		       "%s %.0f %% of the time, and the RTT grew from %.3f to %.3f ms: that or a "
		       "full line; the line's own counters are missing",
		       what, part * 100, facts->min_rtt_us / 1e3, facts->srtt_us / 1e3);
	return LIMIT_UNKNOWN;
}

/* The receiver's window, or the reader that does not empty it. */
static enum limit rwnd_say(const struct verdict_facts *facts, double part, char *text, size_t size)
{
	const char *full = "the receiver's window was full";
	double allowed_bps = facts->min_rtt_us != 0
				 ? (double)facts->window_bytes * 8e6 / (double)facts->min_rtt_us
				 : 0.0;
	if (cpu_full(facts->receiver_cpu_ns, facts->duration_ns, facts->receiver_host_percent))
		return cpu_say(LIMIT_RECEIVER_PROCESSOR, facts->receiver_cpu_ns, facts->duration_ns,
			       facts->receiver_host_percent, text, size);
	if (queue_stood(facts))
		return end_or_line_say(facts, full, part, text, size);
	if ((double)facts->goodput_bps < allowed_bps * (1 - WINDOW_NEARNESS)) {
		(void)snprintf(text, size,
			       "%s %.0f %% of the time, though its largest allows %.3f Gbit/s: it "
			       "was smaller before, or its program reads too slowly",
			       full, part * 100, allowed_bps / 1e9);
		return LIMIT_UNKNOWN;
	}
	(void)snprintf(text, size,
		       "%s %.0f %% of the time: %" PRIu64
		       " bytes on offer over an RTT of %.3f ms allow %.3f Gbit/s",
		       full, part * 100, facts->window_bytes, facts->min_rtt_us / 1e3,
		       allowed_bps / 1e9);
	return LIMIT_WINDOW;
}

static enum limit sndbuf_say(const struct verdict_facts *facts, double part, char *text,
			     size_t size)
{
	if (cpu_full(facts->sender_cpu_ns, facts->duration_ns, facts->sender_host_percent))
		return cpu_say(LIMIT_SENDER_PROCESSOR, facts->sender_cpu_ns, facts->duration_ns,
			       facts->sender_host_percent, text, size);
	if (queue_stood(facts))
		return end_or_line_say(facts, "the send buffer was full", part, text, size);
	(void)snprintf(text, size,
		       "the send buffer of %" PRIu64 " bytes was too small %.0f %% of the time",
		       facts->sndbuf_bytes, part * 100);
	return LIMIT_SEND_BUFFER;
}

/* Neither window nor application: the congestion window. What made it what it is, this end cannot
 * know: a full line, losses, reordering and duplicates look alike from here. */
static enum limit path_say(const struct verdict_facts *facts, char *text, size_t size)
{
	(void)snprintf(
	    text, size,
	    "the path, or the start of TCP: %" PRIu64 " of %" PRIu64
	    " packets were sent again, the RTT went from %.3f to %.3f ms; the lines' own "
	    "counters, and when it was so, are missing",
	    facts->retransmits, facts->packets, facts->min_rtt_us / 1e3, facts->srtt_us / 1e3);
	return LIMIT_UNKNOWN;
}

enum limit verdict_find(const struct verdict_facts *facts, char *text, size_t size)
{
	double rwnd = share(facts->rwnd_limited_us, facts->busy_us);
	double sndbuf = share(facts->sndbuf_limited_us, facts->busy_us);
	double busy = share(facts->busy_us * 1000, facts->duration_ns);
	if (facts->duration_ns == 0 || facts->goodput_bps == 0) {
		(void)snprintf(text, size, "nothing was transferred");
		return LIMIT_UNKNOWN;
	}
	if (facts->pacing_bps != 0 &&
	    (double)facts->goodput_bps >= (double)facts->pacing_bps * (1 - PACING_NEARNESS)) {
		(void)snprintf(text, size, "paced to %.3f Gbit/s", (double)facts->pacing_bps / 1e9);
		return LIMIT_PACING;
	}
	if (rwnd > LARGE_SHARE && rwnd >= sndbuf)
		return rwnd_say(facts, rwnd, text, size);
	if (sndbuf > LARGE_SHARE)
		return sndbuf_say(facts, sndbuf, text, size);
	if (cpu_full(facts->sender_cpu_ns, facts->duration_ns, facts->sender_host_percent))
		return cpu_say(LIMIT_SENDER_PROCESSOR, facts->sender_cpu_ns, facts->duration_ns,
			       facts->sender_host_percent, text, size);
	if (cpu_full(facts->receiver_cpu_ns, facts->duration_ns, facts->receiver_host_percent))
		return cpu_say(LIMIT_RECEIVER_PROCESSOR, facts->receiver_cpu_ns, facts->duration_ns,
			       facts->receiver_host_percent, text, size);
	if (busy < LARGE_SHARE) {
		(void)snprintf(text, size, "there was something to send only %.0f %% of the time",
			       busy * 100);
		return LIMIT_APPLICATION;
	}
	return path_say(facts, text, size);
}
