/* How the data connections are protected. */
#include "options/option.h"

static int protect_apply(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	options->protect_given = true;
	if (!protect_mode_parse(value, &options->asked.protect))
		return option_refuse(name, value, "'none', 'mac', 'aead' or 'ktls'", failure);
	return 0;
}

static int least_apply(const char *name, const char *value, struct options *options,
		       struct failure *failure)
{
	/* ktls protects as aead does: whoever wants that much takes both. */
	if (!protect_mode_parse(value, &options->admission.protect) ||
	    options->admission.protect == PROTECT_KTLS)
		return option_refuse(name, value, "'none', 'mac' or 'aead' (which ktls is, too)",
				     failure);
	return 0;
}

static const struct option_rule send_rules[] = {
    {"protect", "none|mac|aead|ktls",
     "with --key; mac: against changes; aead: reading, too; ktls: by the kernel (none; files: "
     "aead)",
     READ(protect_apply), PASSED},
};

static const struct option_rule receive_rules[] = {
    {"protect", "none|mac|aead", "refuse transfers that are protected less; ktls is as aead (none)",
     READ(least_apply), HERE},
};

const struct option_table options_of_protect = OPTION_TABLE(send_rules);
const struct option_table options_of_least_protect = OPTION_TABLE(receive_rules);

static int kernel_check(const struct options *options, struct failure *failure)
{
	if (options->asked.mptcp)
		return failure_set(failure,
				   "--protect ktls: Linux has TLS over TCP, not over MPTCP: "
				   "--protect aead, or without --mptcp");
	if (options->asked.settings.send_method == SEND_ZEROCOPY ||
	    options->asked.settings.send_method == SEND_URING)
		return failure_set(failure,
				   "--protect ktls: the kernel makes the records in memory of its "
				   "own, so --send %s does not go with it",
				   send_method_name(options->asked.settings.send_method));
	if (options->asked.bytes / options->asked.streams > TLS_KEY_RECORDS * TLS_PAYLOAD_BYTES)
		return failure_set(
		    failure,
		    "--protect ktls: the key of a stream protects %llu GB at most "
		    "(RFC 8446, 5.5): use more --streams, or --protect aead",
		    (unsigned long long)(TLS_KEY_RECORDS * TLS_PAYLOAD_BYTES / 1000000000));
	return 0;
}

int options_check_protect(struct options *options, struct failure *failure)
{
	if (!options->protect_given && options->files && options->key != NULL)
		options->asked.protect = PROTECT_AEAD;
	if (options->asked.protect == PROTECT_NONE)
		return 0;
	if (options->key == NULL)
		return failure_set(failure, "--protect %s needs --key FILE",
				   protect_mode_name(options->asked.protect));
	if (!options->files && options->asked.receive == RECEIVE_DISCARD)
		return failure_set(failure,
				   "--protect %s: the receiver has to look at the data: --receive "
				   "memory or verify",
				   protect_mode_name(options->asked.protect));
	if (options->asked.protect == PROTECT_KTLS)
		return kernel_check(options, failure);
	if (options->asked.settings.send_method != SEND_AUTO &&
	    options->asked.settings.send_method != SEND_WRITE)
		return failure_set(failure,
				   "--protect %s makes records of the data, which are written: "
				   "--send %s does not go with it",
				   protect_mode_name(options->asked.protect),
				   send_method_name(options->asked.settings.send_method));
	return 0;
}
