/* What `rr` and `udp` take. */
#include "base/clock.h"
#include "base/quantity.h"
#include "options/option.h"

#include <getopt.h>
#include <stdio.h>

static int bytes_read(const char *name, const char *value, uint64_t low, uint64_t high,
		      const char *right, uint32_t *out, struct failure *failure)
{
	uint64_t bytes = 0;
	if (!quantity_parse_bytes(value, &bytes) || bytes < low || bytes > high)
		return option_refuse(name, value, right, failure);
	*out = (uint32_t)bytes;
	return 0;
}

static int request_apply(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	return bytes_read(name, value, 1, PROBE_BYTES_MAX, "an amount of bytes from 1 to 16Mi",
			  &options->asked.probe.request_bytes, failure);
}

static int response_apply(const char *name, const char *value, struct options *options,
			  struct failure *failure)
{
	return bytes_read(name, value, 1, PROBE_BYTES_MAX, "an amount of bytes from 1 to 16Mi",
			  &options->asked.probe.response_bytes, failure);
}

static int size_apply(const char *name, const char *value, struct options *options,
		      struct failure *failure)
{
	return bytes_read(name, value, DATAGRAM_BYTES_MIN, DATAGRAM_BYTES_MAX,
			  "an amount of bytes from 40 to 65000",
			  &options->asked.probe.request_bytes, failure);
}

static int rate_apply(const char *name, const char *value, struct options *options,
		      struct failure *failure)
{
	return option_rate(name, value, &options->asked.probe.rate_bps, failure);
}

static int active_apply(const char *name, const char *value, struct options *options,
			struct failure *failure)
{
	return option_duration(name, value, NS_PER_MS, DAY_NS,
			       "a duration from 1ms to 1 day such as 1s",
			       &options->asked.probe.active_ns, failure);
}

static int idle_apply(const char *name, const char *value, struct options *options,
		      struct failure *failure)
{
	return option_duration(name, value, NS_PER_MS, DAY_NS,
			       "a duration from 1ms to 1 day such as 1s",
			       &options->asked.probe.idle_ns, failure);
}

#define OF_BOTH                                                                                    \
	{"time", "SECONDS", "end after that time (10)", READ(option_time), HERE},                  \
	    {"bind", "ADDR", "connect from that address", WORD(bind), HERE},                       \
	{                                                                                          \
		"dscp", "N", "code point (DSCP) of the packets, 0 to 63", READ(option_dscp), HERE  \
	}

static const struct option_rule round_trip_rules[] = {
    {"streams", "N", "connections, a thread each, 1 to 128 (1)", READ(option_streams), HERE},
    {"request", "BYTES", "size of each request (1)", READ(request_apply), HERE},
    {"response", "BYTES", "size of each answer (1)", READ(response_apply), HERE},
    {"connect", NULL, "a new connection for each round trip", FLAG(asked.probe.fresh), HERE},
    OF_BOTH,
};

static const struct option_rule datagram_rules[] = {
    {"rate", "BIT/S", "rate of the datagrams' payload (10M)", READ(rate_apply), HERE},
    {"size", "BYTES", "size of a datagram's payload, 40 to 65000 (1400)", READ(size_apply), HERE},
    {"active", "TIME", "with --idle: send for so long, then rest", READ(active_apply), HERE},
    {"idle", "TIME", "with --active: rest for so long, then send", READ(idle_apply), HERE},
    OF_BOTH,
};

const struct option_table options_of_round_trips = OPTION_TABLE(round_trip_rules);
const struct option_table options_of_datagrams = OPTION_TABLE(datagram_rules);

static const struct option_table *const round_trip_tables[] = {
    &options_of_every, &options_of_round_trips, &options_of_way, NULL};
static const struct option_table *const datagram_tables[] = {
    &options_of_every, &options_of_datagrams, &options_of_way, NULL};

void options_help_round_trips(void)
{
	(void)puts("usage: landspeed-engine rr HOST [OPTION...]\n");
	option_help(round_trip_tables);
}

void options_help_datagrams(void)
{
	(void)puts("usage: landspeed-engine udp HOST [OPTION...]\n");
	option_help(datagram_tables);
}

static int probe_parse(int argc, char **argv, const struct option_table *const *tables,
		       struct options *options, struct failure *failure)
{
	options_default(options);
	options->asked.duration_ns = 10 * NS_PER_S;
	options->asked.probe.request_bytes = tables == datagram_tables ? 1400 : 1;
	options->asked.probe.response_bytes = 1;
	options->asked.probe.rate_bps = 10000000;
	options->asked.kind = tables == datagram_tables ? REQUEST_DATAGRAMS : REQUEST_ROUND_TRIPS;
	if (option_parse_all(argc, argv, tables, options, failure) != 0)
		return -1;
	if (options->help)
		return 0;
	if (optind == argc)
		return failure_set(failure, "%s needs the HOST that answers", argv[0]);
	options->host = argv[optind];
	if (optind + 1 < argc)
		return failure_set(failure, "'%s' is too much: %s takes one HOST", argv[optind + 1],
				   argv[0]);
	if ((options->asked.probe.active_ns != 0) != (options->asked.probe.idle_ns != 0))
		return failure_set(failure, "--active and --idle go together");
	return options_check_session(options, failure);
}

int options_parse_round_trips(int argc, char **argv, struct options *options,
			      struct failure *failure)
{
	return probe_parse(argc, argv, round_trip_tables, options, failure);
}

int options_parse_datagrams(int argc, char **argv, struct options *options, struct failure *failure)
{
	return probe_parse(argc, argv, datagram_tables, options, failure);
}
