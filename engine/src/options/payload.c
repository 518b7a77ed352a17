/* How the bytes of `send` are made and handed to the kernel. */
#include "options/option.h"
#include "payload/blocks.h"

static int send_apply(const char *name, const char *value, struct options *options,
		      struct failure *failure)
{
	if (!send_method_parse(value, &options->asked.settings.send_method))
		return option_refuse(name, value,
				     "'auto', 'write', 'sendfile', 'splice', 'zerocopy' or "
				     "'io_uring'",
				     failure);
	return 0;
}

static int payload_seed_apply(const char *name, const char *value, struct options *options,
			      struct failure *failure)
{
	options->seeded = true;
	return option_integer(name, value, 0, SEED_LIMIT - 1, "an integer from 0 to 2^53 - 1",
			      &options->asked.payload_seed, failure);
}

static const struct option_rule rules[] = {
    {"send", "WAY", "auto, write, sendfile, splice, zerocopy or io_uring (auto)", READ(send_apply),
     PASSED},
    {"payload-seed", "N", "seed of the pseudo-random payload (a new one each time)",
     READ(payload_seed_apply), PASSED},
};

const struct option_table options_of_payload = OPTION_TABLE(rules);

int options_check_payload(const struct options *options, struct failure *failure)
{
	if (options->asked.receive != RECEIVE_VERIFY)
		return 0;
	if (options->asked.bytes != 0 &&
	    options->asked.bytes / options->asked.streams < BLOCK_MIN_BYTES)
		return failure_set(failure,
				   "--bytes: a verified stream has at least one block, %d bytes",
				   BLOCK_MIN_BYTES);
	return 0;
}
