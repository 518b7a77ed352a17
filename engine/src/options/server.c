/* What the server of `receive` lets its clients have. */
#include "base/clock.h"
#include "base/limits.h"
#include "base/quantity.h"
#include "control/admission.h"
#include "net/tune.h"
#include "options/option.h"

#include <string.h>
#include <unistd.h>

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

static int max_window_apply(const char *name, const char *value, struct options *options,
			    struct failure *failure)
{
	uint64_t bytes = 0;
	if (!quantity_parse_bytes(value, &bytes) || bytes == 0)
		return option_refuse(name, value, "an amount of bytes above 0 such as 64M",
				     failure);
	options->admission.max_window_bytes = bytes;
	return 0;
}

static int min_rate_apply(const char *name, const char *value, struct options *options,
			  struct failure *failure)
{
	return option_rate(name, value, &options->admission.min_rate_bps, failure);
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

static const struct option_rule rules[] = {
    {"clients", "N", "greatest number of transfers at once, a process each (1)",
     READ(clients_apply), HERE},
    {"queue", "N", "clients that may wait for their turn (0)", READ(queue_apply), HERE},
    {"per-address", "N", "greatest number of connections from one address (32)",
     READ(per_address_apply), HERE},
    {"max-streams", "N", "greatest number of streams of one transfer (128)",
     READ(max_streams_apply), HERE},
    {"max-rate", "BIT/S", "greatest rate of one transfer: senders are paced (any)",
     READ(max_rate_apply), HERE},
    {"min-rate", "BIT/S", "end a transfer that is slower than that over a whole --stall (100)",
     READ(min_rate_apply), HERE},
    {"max-window", "BYTES",
     "greatest window of a stream that may be asked for (any; without --key what fits)",
     READ(max_window_apply), HERE},
    {"max-time", "TIME", "longest duration of a transfer; --bytes without --time is refused (any)",
     READ(max_time_apply), HERE},
    {"allow", "MODES", "receive modes, with commas between (all)", READ(allow_apply), HERE},
    {"may-send", NULL, "send to clients that ask with send --reverse or --bidir (no)",
     FLAG(admission.sends), HERE},
    {"third-party", NULL, "send to others when a client with the key asks (no)",
     FLAG(admission.third_party), HERE},
    {"log", "text|json", "how lines on standard error are written (text)", READ(log_apply), HERE},
};

const struct option_table options_of_server = OPTION_TABLE(rules);

/*
 * What clients that have proved nothing may have of the kernel's memory: their buffers, twice as
 * large as the windows, leave half of it. A network namespace does not tell, and its memory is
 * what its control group has.
 */
static uint64_t windows_of_strangers(unsigned clients)
{
	uint64_t pages = sysctl_last("/proc/sys/net/ipv4/tcp_mem");
	return pages * (uint64_t)sysconf(_SC_PAGESIZE) / 4 / clients;
}

int options_check_server(struct options *options, struct failure *failure)
{
	if (options->admission.protect != PROTECT_NONE && options->key == NULL)
		return failure_set(failure, "--protect %s needs --key FILE",
				   protect_mode_name(options->admission.protect));
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
	if (options->key == NULL && options->admission.max_window_bytes == 0)
		options->admission.windows_bytes = windows_of_strangers(options->admission.clients);
	return 0;
}
