/* What `receive` alone takes. */
#include "clock.h"
#include "option.h"

static int bind_apply(const char *name, const char *value, struct options *options,
		      struct failure *failure)
{
	(void)name;
	(void)failure;
	options->bind = value;
	return 0;
}

static int data_port_apply(const char *name, const char *value, struct options *options,
			   struct failure *failure)
{
	return option_port(name, value, &options->data_port, failure);
}

static int one_off_apply(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	(void)name;
	(void)value;
	(void)failure;
	options->one_off = true;
	return 0;
}

static int idle_timeout_apply(const char *name, const char *value, struct options *options,
			      struct failure *failure)
{
	return option_duration(name, value, NS_PER_MS, DAY_NS,
			       "a duration from 1ms to 1 day such as 30s",
			       &options->idle_timeout_ns, failure);
}

static const struct option_rule rules[] = {
    {"bind", "ADDR", "listen there only (all addresses)", bind_apply},
    {"data-port", "PORT", "port of the data connections (any free one)", data_port_apply},
    {"one-off", NULL, "end after one transfer, with its status", one_off_apply},
    {"idle-timeout", "TIME", "for each step of the handshake (30s)", idle_timeout_apply},
};

const struct option_table options_of_receive = OPTION_TABLE(rules);
