/* What is told about a transfer, to people and to programs. */
#include "base/clock.h"
#include "options/option.h"

#include <string.h>

static int report_interval_apply(const char *name, const char *value, struct options *options,
				 struct failure *failure)
{
	return option_duration(name, value, 10 * NS_PER_MS, 3600 * NS_PER_S,
			       "a duration from 10ms to 1 h such as 1s", &options->report_ns,
			       failure);
}

static bool is_standard_output(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

bool options_tell(const struct options *options)
{
	return !options->quiet && !is_standard_output(options->json) &&
	       !is_standard_output(options->live);
}

static const struct option_rule rules[] = {
    {"tcp-info", "FILE", "write all of TCP_INFO of all streams as CSV", WORD(tcp_info), HERE},
    {"report-interval", "TIME", "time between two lines on the terminal, and of --live (1s)",
     READ(report_interval_apply), HERE},
    {"quiet", NULL, "print no intervals and tables on standard output", FLAG(quiet), HERE},
};

const struct option_table options_of_report = OPTION_TABLE(rules);
