#include "options.h"

#include "clock.h"
#include "hello.h"
#include "quantity.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>

#define INTERVAL_MIN_NS NS_PER_MS
#define INTERVAL_MAX_NS (3600 * NS_PER_S)
#define DAY_NS          (UINT64_C(86400) * NS_PER_S)
#define DURATION_MAX_NS (30 * DAY_NS)

enum option_id {
	OPT_HELP = 256,
	OPT_PORT,
	OPT_INTERVAL,
	OPT_SAMPLES,
	OPT_JSON,
	OPT_BIND,
	OPT_DATA_PORT,
	OPT_ONE_OFF,
	OPT_IDLE_TIMEOUT,
	OPT_STREAMS,
	OPT_WINDOW,
	OPT_CONGESTION,
	OPT_BYTES,
	OPT_TIME,
	OPT_RECEIVE,
	OPT_LIVE,
	OPT_PACING,
	OPT_STAGGER,
};

#define OPTIONS_OF_BOTH                                                                            \
	{"help", no_argument, NULL, OPT_HELP}, {"port", required_argument, NULL, OPT_PORT},        \
	    {"interval", required_argument, NULL, OPT_INTERVAL},                                   \
	    {"samples", required_argument, NULL, OPT_SAMPLES},                                     \
	{                                                                                          \
		"json", required_argument, NULL, OPT_JSON                                          \
	}

static const struct option receive_options[] = {
    OPTIONS_OF_BOTH,
    {"bind", required_argument, NULL, OPT_BIND},
    {"data-port", required_argument, NULL, OPT_DATA_PORT},
    {"one-off", no_argument, NULL, OPT_ONE_OFF},
    {"idle-timeout", required_argument, NULL, OPT_IDLE_TIMEOUT},
    {NULL, 0, NULL, 0},
};

static const struct option send_options[] = {
    OPTIONS_OF_BOTH,
    {"streams", required_argument, NULL, OPT_STREAMS},
    {"window", required_argument, NULL, OPT_WINDOW},
    {"congestion", required_argument, NULL, OPT_CONGESTION},
    {"bytes", required_argument, NULL, OPT_BYTES},
    {"time", required_argument, NULL, OPT_TIME},
    {"receive", required_argument, NULL, OPT_RECEIVE},
    {"live", required_argument, NULL, OPT_LIVE},
    {"pacing", required_argument, NULL, OPT_PACING},
    {"stagger", required_argument, NULL, OPT_STAGGER},
    {NULL, 0, NULL, 0},
};

const char *receive_mode_name(enum receive_mode mode)
{
	return mode == RECEIVE_MEMORY ? "memory" : "discard";
}

bool receive_mode_parse(const char *name, enum receive_mode *mode)
{
	for (enum receive_mode known = RECEIVE_DISCARD; known <= RECEIVE_MEMORY; known++) {
		if (strcmp(name, receive_mode_name(known)) == 0) {
			*mode = known;
			return true;
		}
	}
	return false;
}

static int value_refuse(struct failure *failure, const char *option, const char *value,
			const char *right)
{
	return failure_set(failure, "--%s: '%s' is not %s", option, value, right);
}

static int port_parse(const char *option, const char *value, uint64_t low, uint16_t *port,
		      struct failure *failure)
{
	uint64_t number;
	if (!quantity_parse_integer(value, low, 65535, &number))
		return value_refuse(failure, option, value, "a port from 1 to 65535");
	*port = (uint16_t)number;
	return 0;
}

static int duration_parse(const char *option, const char *value, uint64_t low, uint64_t high,
			  const char *right, uint64_t *ns, struct failure *failure)
{
	uint64_t number;
	if (!quantity_parse_duration(value, &number) || number < low || number > high)
		return value_refuse(failure, option, value, right);
	*ns = number;
	return 0;
}

static int streams_parse(const char *value, unsigned *streams, struct failure *failure)
{
	uint64_t number;
	if (!quantity_parse_integer(value, 1, STREAMS_LIMIT, &number))
		return value_refuse(failure, "streams", value, "a number of streams from 1 to 128");
	*streams = (unsigned)number;
	return 0;
}

static int window_parse(const char *value, uint64_t *window, struct failure *failure)
{
	uint64_t number;
	if (strcmp(value, "auto") == 0) {
		*window = 0;
		return 0;
	}
	if (!quantity_parse_bytes(value, &number) || number == 0)
		return value_refuse(failure, "window", value,
				    "'auto' or bytes such as 46000000 or 46M");
	if (number > WINDOW_LIMIT_BYTES)
		return failure_set(failure,
				   "--window: '%s' is above the 1 GiB that a TCP window can be; "
				   "use more streams",
				   value);
	*window = number;
	return 0;
}

static int congestion_parse(const char *value, const char **name, struct failure *failure)
{
	/* TCP_CA_NAME_MAX in the kernel, with the NUL. */
	if (value[0] == '\0' || strlen(value) >= 16)
		return value_refuse(failure, "congestion", value,
				    "the name of a congestion control (reno, cubic, bbr, ...)");
	*name = value;
	return 0;
}

static int bytes_parse(const char *value, uint64_t *bytes, struct failure *failure)
{
	uint64_t number;
	/* Beyond 2^53 the figure would not pass through JSON unchanged. */
	if (!quantity_parse_bytes(value, &number) || number == 0 || number > UINT64_C(1) << 53)
		return value_refuse(failure, "bytes", value,
				    "an amount of bytes above 0 such as 1000000 or 10G");
	*bytes = number;
	return 0;
}

static int pacing_parse(const char *value, uint64_t *pacing, struct failure *failure)
{
	uint64_t number;
	/* The kernel takes bytes per second: below 8 bit/s nothing would be left. */
	if (!quantity_parse_rate(value, &number) || number < 8 || number > UINT64_C(1) << 53)
		return value_refuse(failure, "pacing", value,
				    "a rate in bit/s such as 1000000000 or 10G");
	*pacing = number;
	return 0;
}

static int option_apply_send(int id, const char *value, struct options *options,
			     struct failure *failure)
{
	switch (id) {
	case OPT_STREAMS:
		return streams_parse(value, &options->streams, failure);
	case OPT_WINDOW:
		return window_parse(value, &options->window_bytes, failure);
	case OPT_CONGESTION:
		return congestion_parse(value, &options->congestion, failure);
	case OPT_BYTES:
		return bytes_parse(value, &options->bytes, failure);
	case OPT_TIME:
		return duration_parse("time", value, NS_PER_MS, DURATION_MAX_NS,
				      "a duration from 1ms to 30 days such as 10 or 60s",
				      &options->duration_ns, failure);
	case OPT_RECEIVE:
		if (!receive_mode_parse(value, &options->receive))
			return value_refuse(failure, "receive", value, "'discard' or 'memory'");
		return 0;
	case OPT_LIVE:
		options->live = value;
		return 0;
	case OPT_PACING:
		return pacing_parse(value, &options->pacing_bps, failure);
	case OPT_STAGGER:
		return duration_parse("stagger", value, 0, DURATION_MAX_NS,
				      "a duration such as 0.5 or 500ms", &options->stagger_ns,
				      failure);
	default:
		return failure_set(failure, "option %d is not handled", id);
	}
}

static int option_apply(int id, const char *value, struct options *options, struct failure *failure)
{
	switch (id) {
	case OPT_HELP:
		options->help = true;
		return 0;
	case OPT_PORT:
		return port_parse("port", value, 1, &options->port, failure);
	case OPT_INTERVAL:
		return duration_parse("interval", value, INTERVAL_MIN_NS, INTERVAL_MAX_NS,
				      "a duration from 1ms to 1 h such as 100ms",
				      &options->interval_ns, failure);
	case OPT_SAMPLES:
		options->samples = value;
		return 0;
	case OPT_JSON:
		options->json = value;
		return 0;
	case OPT_BIND:
		options->bind = value;
		return 0;
	case OPT_DATA_PORT:
		return port_parse("data-port", value, 1, &options->data_port, failure);
	case OPT_ONE_OFF:
		options->one_off = true;
		return 0;
	case OPT_IDLE_TIMEOUT:
		return duration_parse("idle-timeout", value, NS_PER_MS, DAY_NS,
				      "a duration from 1ms to 1 day such as 30s",
				      &options->idle_timeout_ns, failure);
	default:
		return option_apply_send(id, value, options, failure);
	}
}

static int option_refuse(int id, char *const *argv, struct failure *failure)
{
	const char *word = argv[optind - 1];
	if (id == ':')
		return failure_set(failure, "%s needs a value; see 'landspeed-engine %s --help'",
				   word, argv[0]);
	return failure_set(failure,
			   "'%s' is not an option of '%s'; see 'landspeed-engine %s --help'", word,
			   argv[0], argv[0]);
}

static int options_parse(int argc, char **argv, const struct option *known, struct options *options,
			 struct failure *failure)
{
	int id;
	opterr = 0;
	optind = 0; /* glibc: start anew, so that tests may parse many command lines */
	while ((id = getopt_long(argc, argv, ":", known, NULL)) != -1) {
		if (id == '?' || id == ':')
			return option_refuse(id, argv, failure);
		if (option_apply(id, optarg, options, failure) != 0)
			return -1;
	}
	return 0;
}

int options_parse_receive(int argc, char **argv, struct options *options, struct failure *failure)
{
	*options = (struct options){
	    .port = 5201, .interval_ns = 100 * NS_PER_MS, .idle_timeout_ns = 30 * NS_PER_S};
	if (options_parse(argc, argv, receive_options, options, failure) != 0)
		return -1;
	if (optind < argc)
		return failure_set(failure, "'%s' is too much: receive takes options only",
				   argv[optind]);
	return 0;
}

int options_parse_send(int argc, char **argv, struct options *options, struct failure *failure)
{
	*options = (struct options){.port = 5201,
				    .interval_ns = 100 * NS_PER_MS,
				    .idle_timeout_ns = 30 * NS_PER_S,
				    .streams = 1};
	if (options_parse(argc, argv, send_options, options, failure) != 0)
		return -1;
	if (options->help)
		return 0;
	if (optind == argc)
		return failure_set(failure, "send needs the HOST to send to");
	options->host = argv[optind];
	if (optind + 1 < argc)
		return failure_set(failure, "'%s' is too much: send takes one HOST",
				   argv[optind + 1]);
	if (options->bytes == 0 && options->duration_ns == 0)
		options->duration_ns = 10 * NS_PER_S;
	if (options->bytes != 0 && options->bytes < options->streams)
		return failure_set(failure, "--bytes: fewer bytes than the %u streams",
				   options->streams);
	return 0;
}
