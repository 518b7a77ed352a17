/* What the server of `receive` lets its clients have. */
#include "admission.h"
#include "clock.h"
#include "hello.h"
#include "option.h"

#include <string.h>

/* Sessions are processes, and their slots in the server's loop are few. */
#define COUNT_MAX 64

static int count_read(const char *name, const char *value, uint64_t low, uint64_t high,
		      const char *right, unsigned *out, struct failure *failure)
{
	uint64_t number = 0;
	if (option_integer(name, value, low, high, right, &number, failure) != 0)
		return -1;
	*out = (unsigned)number;
	return 0;
}

static int clients_apply(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	return count_read(name, value, 1, COUNT_MAX, "a number of clients from 1 to 64",
			  &options->admission.clients, failure);
}

static int queue_apply(const char *name, const char *value, struct options *options,
		       struct failure *failure)
{
	return count_read(name, value, 0, COUNT_MAX, "a number of clients from 0 to 64",
			  &options->admission.queue, failure);
}

static int per_address_apply(const char *name, const char *value, struct options *options,
			     struct failure *failure)
{
	return count_read(name, value, 1, 1000, "a number of connections from 1 to 1000",
			  &options->admission.per_address, failure);
}

static int max_streams_apply(const char *name, const char *value, struct options *options,
			     struct failure *failure)
{
	return count_read(name, value, 1, STREAMS_LIMIT, "a number of streams from 1 to 128",
			  &options->admission.max_streams, failure);
}

static int max_rate_apply(const char *name, const char *value, struct options *options,
			  struct failure *failure)
{
	return option_rate(name, value, &options->admission.max_rate_bps, failure);
}

static int max_time_apply(const char *name, const char *value, struct options *options,
			  struct failure *failure)
{
	return option_duration(name, value, NS_PER_MS, DURATION_MAX_NS,
			       "a duration from 1ms to 30 days such as 60s",
			       &options->admission.max_duration_ns, failure);
}

static int allow_apply(const char *name, const char *value, struct options *options,
		       struct failure *failure)
{
	if (!admission_modes_parse(value, &options->admission.modes))
		return option_refuse(name, value, "a list of receive modes such as discard,memory",
				     failure);
	return 0;
}

static int log_apply(const char *name, const char *value, struct options *options,
		     struct failure *failure)
{
	options->log_json = strcmp(value, "json") == 0;
	if (!options->log_json && strcmp(value, "text") != 0)
		return option_refuse(name, value, "'text' or 'json'", failure);
	return 0;
}

static int third_party_apply(const char *name, const char *value, struct options *options,
			     struct failure *failure)
{
	(void)name;
	(void)value;
	(void)failure;
	options->admission.third_party = true;
	return 0;
}

static const struct option_rule rules[] = {
    {"clients", "N", "transfers at once, a process each (1)", clients_apply},
    {"queue", "N", "clients that wait for their turn; others are refused (0)", queue_apply},
    {"per-address", "N", "connections of one address (32)", per_address_apply},
    {"max-streams", "N", "streams of a transfer (128)", max_streams_apply},
    {"max-rate", "BIT/S", "of a transfer: senders are told to pace (any)", max_rate_apply},
    {"max-time", "TIME", "of a transfer; --bytes alone is refused (any)", max_time_apply},
    {"allow", "MODES", "receive modes, with commas between (all)", allow_apply},
    {"third-party", NULL, "send to others when a client with the key asks (no)", third_party_apply},
    {"log", "text|json", "how lines on standard error are written (text)", log_apply},
};

const struct option_table options_of_server = OPTION_TABLE(rules);

int options_check_server(struct options *options, struct failure *failure)
{
	if (options->admission.third_party && options->key == NULL)
		return failure_set(failure,
				   "--third-party: strangers must not make this host send: "
				   "--key FILE is needed too");
	if (options->admission.clients > 1 &&
	    (options->samples != NULL || options->tcp_info != NULL))
		return failure_set(failure,
				   "--clients %u: --samples and --tcp-info are files of "
				   "one transfer at a time",
				   options->admission.clients);
	return 0;
}
