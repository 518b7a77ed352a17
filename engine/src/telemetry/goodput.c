#include "telemetry/goodput.h"

#include "base/clock.h"
#include "base/number.h"

#include <stdio.h>

uint64_t goodput_bps(const struct goodput *goodput)
{
	if (goodput->duration_ns == 0 || goodput->duration_ns < goodput->rtt_us * NS_PER_US)
		return 0;
	return (uint64_t)((long double)number_above(goodput->bytes, goodput->early_bytes) * 8e9L /
			  (long double)goodput->duration_ns);
}

static void reason_text(const struct goodput *goodput, char *text, size_t size)
{
	double ms = (double)goodput->duration_ns / 1e6;
	if (goodput->bytes == 0)
		(void)snprintf(text, size, "nothing came");
	else if (goodput->duration_ns < goodput->rtt_us * NS_PER_US)
		(void)snprintf(text, size,
			       "too short for a rate: %.6g ms, less than an RTT (%.6g ms)", ms,
			       (double)goodput->rtt_us / 1e3);
	else
		(void)snprintf(text, size, "too short for a rate: all had come at once");
}

void goodput_add(cJSON *object, const struct goodput *goodput)
{
	char text[128];
	uint64_t bps = goodput_bps(goodput);
	json_add_known(object, "goodput_bps", bps, bps != 0 || goodput->bytes == 0);
	reason_text(goodput, text, sizeof(text));
	json_add_text(object, "goodput_reason", bps == 0 ? text : NULL);
}

void goodput_text(const struct goodput *goodput, char *text, unsigned size)
{
	uint64_t bps = goodput_bps(goodput);
	if (bps != 0 || goodput->bytes == 0)
		(void)snprintf(text, size, "goodput %.3f Gbit/s", (double)bps / 1e9);
	else
		reason_text(goodput, text, size);
}
