/* What `receive` alone takes. */
#include "base/clock.h"
#include "options/option.h"

static int data_port_apply(const char *name, const char *value, struct options *options,
			   struct failure *failure)
{
	return option_port(name, value, &options->data_port, failure);
}

static int idle_timeout_apply(const char *name, const char *value, struct options *options,
			      struct failure *failure)
{
	return option_duration(name, value, NS_PER_MS, DAY_NS,
			       "a duration from 1ms to 1 day such as 30s",
			       &options->idle_timeout_ns, failure);
}

static const struct option_rule rules[] = {
    {"bind", "ADDR", "listen there only (all addresses)", WORD(bind), HERE},
    {"user", "NAME", "become that user once the port is open (none; for root)", WORD(user), HERE},
    {"data-port", "PORT", "another port for data connections (that of --port)",
     READ(data_port_apply), HERE},
    {"one-off", NULL, "end after one transfer, with its status", FLAG(one_off), HERE},
    {"idle-timeout", "TIME",
     "how long to wait for a client's handshake, request and data connections (30s)",
     READ(idle_timeout_apply), HERE},
};

const struct option_table options_of_receive = OPTION_TABLE(rules);
