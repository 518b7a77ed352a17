/* How the session of `send` comes to be: who sends, over which addresses, and how long one waits.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "options/option.h"

#include <string.h>
#include <sys/socket.h>

#define FLOW_LABEL_MAX 0xfffff
/* With less a writer waits for all that it wrote before (seen with Linux 6.18). */
#define MPTCP_NOTSENT_LEAST_BYTES (UINT64_C(64) << 10)

static int reverse_apply(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	(void)value;
	if (options->asked.direction == DIRECTION_BOTH)
		return failure_set(failure, "--%s: --bidir has that direction too", name);
	options->asked.direction = DIRECTION_REVERSE;
	return 0;
}

static int bidir_apply(const char *name, const char *value, struct options *options,
		       struct failure *failure)
{
	(void)value;
	if (options->asked.direction == DIRECTION_REVERSE)
		return failure_set(failure, "--%s has the direction of --reverse too", name);
	options->asked.direction = DIRECTION_BOTH;
	return 0;
}

static int connect_timeout_apply(const char *name, const char *value, struct options *options,
				 struct failure *failure)
{
	return option_duration(name, value, NS_PER_MS, DAY_NS,
			       "a duration from 1ms to 1 day such as 30s",
			       &options->connect_timeout_ns, failure);
}

static int answer_timeout_apply(const char *name, const char *value, struct options *options,
				struct failure *failure)
{
	return option_duration(name, value, NS_PER_MS, DAY_NS,
			       "a duration from 1ms to 1 day such as 30s",
			       &options->idle_timeout_ns, failure);
}

static int flow_label_apply(const char *name, const char *value, struct options *options,
			    struct failure *failure)
{
	uint64_t number = 0;
	if (option_integer(name, value, 1, FLOW_LABEL_MAX,
			   "a flow label from 1 to 1048575 (RFC 6437)", &number, failure) != 0)
		return -1;
	options->flow_label = (uint32_t)number;
	return 0;
}

static const struct option_rule direction_rules[] = {
    {"reverse", NULL, "the server sends, over connections that we open (receive --may-send)",
     READ(reverse_apply), PASSED},
    {"bidir", NULL, "both send at the same time, on streams of their own (receive --may-send)",
     READ(bidir_apply), PASSED},
    {"flow-label", "N", "IPv6 flow label of the data connections (the system's)",
     READ(flow_label_apply), PASSED},
};

static const struct option_rule way_rules[] = {
    {"ipv4", NULL, "addresses of IPv4 only; also -4", FLAG(ipv4), PASSED},
    {"ipv6", NULL, "addresses of IPv6 only; also -6", FLAG(ipv6), PASSED},
    {"connect-timeout", "TIME",
     "how long to try each address of HOST, and the data connections (30s)",
     READ(connect_timeout_apply), PASSED},
    {"answer-timeout", "TIME",
     "how long to wait for each answer of the server before the transfer (30s)",
     READ(answer_timeout_apply), PASSED},
};

const struct option_table options_of_direction = OPTION_TABLE(direction_rules);
const struct option_table options_of_way = OPTION_TABLE(way_rules);

int options_check_session(struct options *options, struct failure *failure)
{
	if (options->ipv4 && options->ipv6)
		return failure_set(failure, "--ipv4 and --ipv6 exclude each other");
	options->family = options->ipv4 ? AF_INET : options->ipv6 ? AF_INET6 : AF_UNSPEC;
	if (options->flow_label != 0 && options->ipv4)
		return failure_set(failure, "--flow-label is one of IPv6");
	if (options->asked.mptcp && options->asked.settings.notsent_bytes != 0 &&
	    options->asked.settings.notsent_bytes < MPTCP_NOTSENT_LEAST_BYTES)
		return failure_set(
		    failure, "--notsent-lowat: a socket of MPTCP takes nearly nothing with less "
			     "than 64Ki; ask for more, or go without --mptcp");
	if (options->asked.direction == DIRECTION_FORWARD)
		return 0;
	if (options->congestion != NULL &&
	    strlen(options->congestion) >= SEND_SETTINGS_CONGESTION_BYTES)
		return failure_set(failure, "--congestion: the list is too long for a server");
	if (options->files)
		return failure_set(failure, "--files sends: use 'get' to have files sent here");
	if (options->asked.direction == DIRECTION_BOTH &&
	    2 * options->asked.streams > STREAMS_LIMIT)
		return failure_set(failure, "--bidir: at most %d streams each way",
				   STREAMS_LIMIT / 2);
	return 0;
}
