/* What `send` alone takes: how much, over how many streams, and how they are tuned. */
#include "base/clock.h"
#include "base/limits.h"
#include "base/quantity.h"
#include "net/tune.h"
#include "net/window.h"
#include "options/option.h"

#include <string.h>

int option_streams(const char *name, const char *value, struct options *options,
		   struct failure *failure)
{
	uint64_t number = 0;
	if (option_integer(name, value, 1, STREAMS_LIMIT, "a number of streams from 1 to 128",
			   &number, failure) != 0)
		return -1;
	options->asked.streams = (unsigned)number;
	return 0;
}

static int window_apply(const char *name, const char *value, struct options *options,
			struct failure *failure)
{
	uint64_t number = 0;
	if (strcmp(value, "auto") == 0) {
		options->asked.window_bytes = 0;
		return 0;
	}
	if (!quantity_parse_bytes(value, &number) || number == 0)
		return option_refuse(name, value, "'auto' or bytes such as 46000000 or 46M",
				     failure);
	if (number > WINDOW_LIMIT_BYTES)
		return failure_set(failure,
				   "--window: '%s' is above the 1 GiB that a TCP window can be; "
				   "use more streams",
				   value);
	options->asked.window_bytes = number;
	return 0;
}

static int congestion_apply(const char *name, const char *value, struct options *options,
			    struct failure *failure)
{
	char one[CONGESTION_NAME_BYTES];
	for (unsigned i = 0; i < STREAMS_LIMIT; i++) {
		if (!congestion_of_stream(value, i, one))
			return option_refuse(name, value,
					     "the name of a congestion control (reno, cubic, "
					     "bbr, ...) or a list of them",
					     failure);
	}
	options->congestion = value;
	return 0;
}

static int bytes_apply(const char *name, const char *value, struct options *options,
		       struct failure *failure)
{
	uint64_t number = 0;
	/* Beyond 2^53 the figure would not pass through JSON unchanged. */
	if (!quantity_parse_bytes(value, &number) || number == 0 || number > UINT64_C(1) << 53)
		return option_refuse(name, value,
				     "an amount of bytes above 0 such as 1000000 or 10G", failure);
	options->asked.bytes = number;
	return 0;
}

int option_time(const char *name, const char *value, struct options *options,
		struct failure *failure)
{
	return option_duration(name, value, NS_PER_MS, DURATION_MAX_NS,
			       "a duration from 1ms to 30 days such as 10 or 60s",
			       &options->asked.duration_ns, failure);
}

static int receive_apply(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	if (!receive_mode_parse(value, &options->asked.receive))
		return option_refuse(name, value, "'discard', 'memory' or 'verify'", failure);
	return 0;
}

static int pacing_apply(const char *name, const char *value, struct options *options,
			struct failure *failure)
{
	return option_rate(name, value, &options->asked.settings.pacing_bps, failure);
}

static int stagger_apply(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	return option_duration(name, value, 0, DURATION_MAX_NS, "a duration such as 0.5 or 500ms",
			       &options->asked.settings.stagger_ns, failure);
}

static const struct option_rule rules[] = {
    {"streams", "N", "connections, a thread each, 1 to 128 (1)", READ(option_streams), PASSED},
    {"window", "BYTES|auto", "window of each stream, set at both ends (auto)", READ(window_apply),
     PASSED},
    {"window-exact", NULL, "offer that window and no more", FLAG(asked.window_exact), PASSED},
    {"congestion", "NAME,...", "congestion control; of a list, each stream takes the next one",
     READ(congestion_apply), PASSED},
    {"time", "SECONDS", "end after that time from the first byte read (10)", READ(option_time),
     PASSED},
    {"bytes", "BYTES", "end after that many bytes over all streams", READ(bytes_apply), PASSED},
    {"receive", "MODE",
     "discard: the kernel drops the payload; memory: copy it; verify: copy and check it",
     READ(receive_apply), PASSED},
    {"pacing", "BIT/S", "greatest sending rate of each stream", READ(pacing_apply), PASSED},
    {"stagger", "SECONDS", "start each stream this long after the one before (0)",
     READ(stagger_apply), PASSED},
    {"live", "FILE|-", "write progress, one line of JSON a second", WORD(live), HERE},
};

const struct option_table options_of_send = OPTION_TABLE(rules);

int options_check_send(struct options *options, struct failure *failure)
{
	if (options->asked.window_exact && options->asked.window_bytes == 0)
		return failure_set(failure, "--window-exact needs --window BYTES");
	if (options_check_protect(options, failure) != 0 ||
	    options_check_session(options, failure) != 0)
		return -1;
	if (options->files)
		return options_check_files(options, failure);
	if (options->asked.bytes == 0 && options->asked.duration_ns == 0)
		options->asked.duration_ns = 10 * NS_PER_S;
	if (options->asked.bytes != 0 && options->asked.bytes < options->asked.streams)
		return failure_set(failure, "--bytes: fewer bytes than the %u streams",
				   options->asked.streams);
	return options_check_payload(options, failure);
}
