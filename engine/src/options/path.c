/* Which way the data connections of `send` go, and what the network is told of them. */
#include "base/clock.h"
#include "base/quantity.h"
#include "net/cpus.h"
#include "options/option.h"

#include <net/if.h>
#include <string.h>

static int affinity_apply(const char *name, const char *value, struct options *options,
			  struct failure *failure)
{
	struct cpus cpus;
	if (strcmp(value, "auto") != 0 && !cpus_parse(value, &cpus))
		return option_refuse(name, value, "'auto' or processors such as 0-3,8", failure);
	options->affinity = value;
	return 0;
}

static int device_apply(const char *name, const char *value, struct options *options,
			struct failure *failure)
{
	if (value[0] == '\0' || strlen(value) >= IF_NAMESIZE)
		return option_refuse(name, value, "the name of a network interface", failure);
	options->device = value;
	return 0;
}

int option_dscp(const char *name, const char *value, struct options *options,
		struct failure *failure)
{
	uint64_t number = 0;
	if (option_integer(name, value, 0, 63, "a code point from 0 to 63 such as 46", &number,
			   failure) != 0)
		return -1;
	options->asked.settings.dscp = (unsigned)number;
	return 0;
}

static int mss_apply(const char *name, const char *value, struct options *options,
		     struct failure *failure)
{
	uint64_t number = 0;
	/* TCP_MIN_MSS, and MAX_TCP_WINDOW, of the kernel. */
	if (option_integer(name, value, 88, 32767, "a segment size from 88 to 32767 bytes", &number,
			   failure) != 0)
		return -1;
	options->mss = (unsigned)number;
	return 0;
}

static int pacing_total_apply(const char *name, const char *value, struct options *options,
			      struct failure *failure)
{
	return option_rate(name, value, &options->asked.settings.pacing_total_bps, failure);
}

static int notsent_apply(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	uint64_t bytes;
	if (!quantity_parse_bytes(value, &bytes) || bytes == 0 || bytes > UINT32_MAX / 2)
		return option_refuse(name, value, "an amount of bytes such as 4M", failure);
	options->asked.settings.notsent_bytes = bytes;
	return 0;
}

static int omit_apply(const char *name, const char *value, struct options *options,
		      struct failure *failure)
{
	return option_duration(name, value, 0, DURATION_MAX_NS, "a duration such as 5 or 500ms",
			       &options->asked.omit_ns, failure);
}

#define AFFINITY                                                                                   \
	{                                                                                          \
		"affinity", "LIST|auto",                                                           \
		    "processors of the streams' threads; auto: those near the NIC",                \
		    READ(affinity_apply), PASSED                                                   \
	}

static const struct option_rule send_rules[] = {
    AFFINITY,
    {"bind", "ADDR", "connect from that address", WORD(bind), PASSED},
    {"bind-device", "DEV", "connect through that interface only", READ(device_apply), PASSED},
    {"dscp", "N", "code point (DSCP) of the data packets, 0 to 63", READ(option_dscp), PASSED},
    {"mss", "BYTES", "largest segment", READ(mss_apply), PASSED},
    {"mptcp", NULL, "use multipath TCP, where both kernels have it", FLAG(asked.mptcp), PASSED},
    {"pacing-total", "BIT/S", "greatest sending rate of all streams together",
     READ(pacing_total_apply), PASSED},
    {"notsent-lowat", "BYTES", "keep less than that unsent in the socket (TCP_NOTSENT_LOWAT)",
     READ(notsent_apply), PASSED},
    {"omit", "SECONDS", "warm up for that long: figures and the time limit begin after it (0)",
     READ(omit_apply), PASSED},
};

static const struct option_rule receive_rules[] = {AFFINITY};

const struct option_table options_of_path = OPTION_TABLE(send_rules);
const struct option_table options_of_affinity = OPTION_TABLE(receive_rules);
