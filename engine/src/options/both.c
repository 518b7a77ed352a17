/* What both ends take. */
#include "base/clock.h"
#include "options/option.h"

static int port_apply(const char *name, const char *value, struct options *options,
		      struct failure *failure)
{
	return option_port(name, value, &options->port, failure);
}

static int interval_apply(const char *name, const char *value, struct options *options,
			  struct failure *failure)
{
	return option_duration(name, value, NS_PER_MS, 3600 * NS_PER_S,
			       "a duration from 1ms to 1 h such as 100ms", &options->interval_ns,
			       failure);
}

static int stall_apply(const char *name, const char *value, struct options *options,
		       struct failure *failure)
{
	return option_duration(name, value, 100 * NS_PER_MS, DAY_NS,
			       "a duration from 100ms to 1 day such as 30s", &options->stall_ns,
			       failure);
}

/* Of all that have a session. */
static const struct option_rule session_rules[] = {
    {"help", NULL, "print this list", FLAG(help), HERE},
    {"port", "PORT", "the receiver's port, for control and data (5201)", READ(port_apply), HERE},
    {"json", "FILE|-", "write the result (a receiver's file keeps the last one)", WORD(json), HERE},
    {"stall", "TIME", "end a transfer in which nothing has moved for that long (30s)",
     READ(stall_apply), PASSED},
    {"key", "FILE", "pre-shared key: both ends prove that they have it (none)", WORD(key), HERE},
};

static const struct option_rule rules[] = {
    {"interval", "TIME", "time between two samples (100ms)", READ(interval_apply), PASSED},
    {"samples", "FILE", "write TCP_INFO of all streams as CSV", WORD(samples), HERE},
};

const struct option_table options_of_every = OPTION_TABLE(session_rules);
const struct option_table options_of_both = OPTION_TABLE(rules);
