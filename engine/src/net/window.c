#include "net/window.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A stream that had to wait this often (in per cent) was held back by what it waited for. */
#define LIMITED_PERCENT 20
/*
 * The kernel counts the queue in an int and stops filling it only after the buffer's end: near
 * 2 GiB the count would turn negative, and the queue would grow until memory is used up.
 */
#define SNDBUF_ASK_MAX (UINT64_C(7) << 27)
/* An RTT this much above the smallest one shows a queue. */
#define QUEUE_PERCENT 5

uint64_t window_bdp_bytes(uint64_t goodput_bps, uint64_t rtt_us)
{
	return (uint64_t)((double)goodput_bps / 8e6 * (double)rtt_us);
}

uint64_t window_sndbuf_ask(uint64_t window_bytes)
{
	return window_bytes > SNDBUF_ASK_MAX / 2 ? SNDBUF_ASK_MAX : 2 * window_bytes;
}

uint64_t window_sender_grant(uint64_t asked_bytes, uint64_t sndbuf_bytes)
{
	if (asked_bytes != 0 && sndbuf_bytes / 3 * 2 >= asked_bytes)
		return asked_bytes;
	return sndbuf_bytes / 2;
}

static void text_add(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void text_add(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list arguments;
	if (used != 0 && used + 2 < size) {
		memcpy(text + used, "; ", 3);
		used += 2;
	}
	va_start(arguments, format);
	(void)vsnprintf(text + used, size - used, format, arguments);
	va_end(arguments);
}

static void grant_check(const char *end, const char *sysctl, uint64_t asked, uint64_t granted,
			char *text, size_t size)
{
	/* 1 GiB loses its last byte in an int. */
	if (granted + 1 < asked)
		text_add(text, size,
			 "the %s was granted %" PRIu64 " of the %" PRIu64
			 " bytes asked for: sysctl -w net.core.%s=%" PRIu64 " there",
			 end, granted, asked, sysctl, asked);
}

/*
 * A window that is always full holds the transfer back only while the path is idle meanwhile: when
 * the RTT has grown, a queue is standing somewhere and the bottleneck works without a pause.
 */
static bool path_is_full(const struct window_facts *facts)
{
	return facts->srtt_us * 100 > facts->min_rtt_us * (100 + QUEUE_PERCENT);
}

static void limit_check(const struct window_facts *facts, char *text, size_t size)
{
	uint64_t bdp = window_bdp_bytes(facts->stream_goodput_bps, facts->min_rtt_us);
	if (facts->busy_us == 0 || path_is_full(facts))
		return;
	if (facts->rwnd_limited_us * 100 >= facts->busy_us * LIMITED_PERCENT)
		text_add(text, size,
			 "the receiver's window held the streams back for %" PRIu64
			 " %% of the time: a stream moved %" PRIu64 " bytes per RTT with %" PRIu64
			 " bytes on offer; %s",
			 facts->rwnd_limited_us * 100 / facts->busy_us, bdp,
			 facts->advertised_bytes,
			 facts->asked_bytes != 0 ? "ask for a larger --window"
						 : "raise sysctl net.ipv4.tcp_rmem there");
	if (facts->sndbuf_limited_us * 100 >= facts->busy_us * LIMITED_PERCENT)
		text_add(text, size,
			 "the send buffer of %" PRIu64 " bytes held the streams back for %" PRIu64
			 " %% of the time; %s",
			 facts->sndbuf_bytes, facts->sndbuf_limited_us * 100 / facts->busy_us,
			 facts->asked_bytes != 0 ? "ask for a larger --window"
						 : "raise sysctl net.ipv4.tcp_wmem here");
}

void window_warning(const struct window_facts *facts, char *text, size_t size)
{
	text[0] = '\0';
	if (facts->asked_bytes != 0) {
		grant_check("sender", "wmem_max", facts->asked_bytes,
			    window_sender_grant(facts->asked_bytes, facts->sndbuf_bytes), text,
			    size);
		/* The kernel doubles what it grants. */
		grant_check("receiver", "rmem_max", facts->asked_bytes, facts->rcvbuf_bytes / 2,
			    text, size);
	}
	limit_check(facts, text, size);
}
