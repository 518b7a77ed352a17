/* What both ends take. */
#include "clock.h"
#include "option.h"

static int help_apply(const char *name, const char *value, struct options *options,
		      struct failure *failure)
{
	(void)name;
	(void)value;
	(void)failure;
	options->help = true;
	return 0;
}

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

static int samples_apply(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	(void)name;
	(void)failure;
	options->samples = value;
	return 0;
}

static int json_apply(const char *name, const char *value, struct options *options,
		      struct failure *failure)
{
	(void)name;
	(void)failure;
	options->json = value;
	return 0;
}

static int key_apply(const char *name, const char *value, struct options *options,
		     struct failure *failure)
{
	(void)name;
	(void)failure;
	options->key = value;
	return 0;
}

static const struct option_rule rules[] = {
    {"help", NULL, "this list", help_apply},
    {"port", "PORT", "control port of the receiver (5201)", port_apply},
    {"interval", "TIME", "between samples (100ms)", interval_apply},
    {"samples", "FILE", "TCP_INFO of all streams as CSV", samples_apply},
    {"json", "FILE|-", "the result (a receiver's file keeps the last one)", json_apply},
    {"key", "FILE", "pre-shared key: both ends prove that they have it (none)", key_apply},
};

const struct option_table options_of_both = OPTION_TABLE(rules);
