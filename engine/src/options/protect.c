/* How the data connections are protected. */
#include "options/option.h"

static int mode_read(const char *name, const char *value, enum protect_mode *mode,
		     struct failure *failure)
{
	if (!protect_mode_parse(value, mode))
		return option_refuse(name, value, "'none', 'mac' or 'aead'", failure);
	return 0;
}

static int protect_apply(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	options->protect_given = true;
	return mode_read(name, value, &options->protect, failure);
}

static int least_apply(const char *name, const char *value, struct options *options,
		       struct failure *failure)
{
	return mode_read(name, value, &options->admission.protect, failure);
}

static const struct option_rule send_rules[] = {
    {"protect", "none|mac|aead",
     "protect the data with --key: mac: from changes; aead: from reading, too (none; files: aead)",
     READ(protect_apply), PASSED},
};

static const struct option_rule receive_rules[] = {
    {"protect", "none|mac|aead", "refuse transfers that are protected less (none)",
     READ(least_apply), HERE},
};

const struct option_table options_of_protect = OPTION_TABLE(send_rules);
const struct option_table options_of_least_protect = OPTION_TABLE(receive_rules);

int options_check_protect(struct options *options, struct failure *failure)
{
	if (!options->protect_given && options->files && options->key != NULL)
		options->protect = PROTECT_AEAD;
	if (options->protect == PROTECT_NONE)
		return 0;
	if (options->key == NULL)
		return failure_set(failure, "--protect %s needs --key FILE",
				   protect_mode_name(options->protect));
	if (!options->files && options->receive == RECEIVE_DISCARD)
		return failure_set(failure,
				   "--protect %s: the receiver has to look at the data: --receive "
				   "memory or verify",
				   protect_mode_name(options->protect));
	if (options->send_way != SEND_AUTO && options->send_way != SEND_WRITE)
		return failure_set(failure,
				   "--protect %s makes records of the data, which are written: "
				   "--send %s does not go with it",
				   protect_mode_name(options->protect),
				   send_way_name(options->send_way));
	return 0;
}
