#include "options.h"

#include "hello.h"
#include "option.h"
#include "quantity.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define RULES_MAX   96
#define FIRST_ID    256
#define HELP_INDENT 23

static const struct option_table *const receive_tables[] = {&options_of_both,
							    &options_of_report,
							    &options_of_receive,
							    &options_of_server,
							    &options_of_directory,
							    &options_of_affinity,
							    NULL};
static const struct option_table *const send_tables[] = {&options_of_both,
							 &options_of_report,
							 &options_of_send,
							 &options_of_files,
							 &options_of_payload,
							 &options_of_path,
							 NULL};

int option_refuse(const char *name, const char *value, const char *right, struct failure *failure)
{
	return failure_set(failure, "--%s: '%s' is not %s", name, value, right);
}

int option_integer(const char *name, const char *value, uint64_t low, uint64_t high,
		   const char *right, uint64_t *out, struct failure *failure)
{
	uint64_t number = 0;
	if (!quantity_parse_integer(value, low, high, &number))
		return option_refuse(name, value, right, failure);
	*out = number;
	return 0;
}

int option_duration(const char *name, const char *value, uint64_t low_ns, uint64_t high_ns,
		    const char *right, uint64_t *out, struct failure *failure)
{
	uint64_t number = 0;
	if (!quantity_parse_duration(value, &number) || number < low_ns || number > high_ns)
		return option_refuse(name, value, right, failure);
	*out = number;
	return 0;
}

int option_rate(const char *name, const char *value, uint64_t *bits_per_second,
		struct failure *failure)
{
	uint64_t number = 0;
	/* The kernel takes bytes per second: below 8 bit/s nothing would be left. */
	if (!quantity_parse_rate(value, &number) || number < 8 || number > UINT64_C(1) << 53)
		return option_refuse(name, value, "a rate in bit/s such as 1000000000 or 10G",
				     failure);
	*bits_per_second = number;
	return 0;
}

int option_port(const char *name, const char *value, uint16_t *out, struct failure *failure)
{
	uint64_t number = 0;
	if (option_integer(name, value, 1, 65535, "a port from 1 to 65535", &number, failure) != 0)
		return -1;
	*out = (uint16_t)number;
	return 0;
}

static void help_print(const struct option_table *const *tables)
{
	for (; *tables != NULL; tables++) {
		for (size_t i = 0; i < (*tables)->count; i++) {
			const struct option_rule *rule = &(*tables)->rules[i];
			char left[64];
			int width = snprintf(left, sizeof(left), "  --%s %s", rule->name,
					     rule->argument != NULL ? rule->argument : "");
			(void)printf("%-*s%s%s\n", HELP_INDENT, left,
				     width < HELP_INDENT ? "" : " ", rule->help);
		}
	}
}

void options_help_receive(void)
{
	(void)puts("usage: landspeed-engine receive [OPTION...]\n");
	help_print(receive_tables);
}

void options_help_send(void)
{
	(void)puts("usage: landspeed-engine send HOST [OPTION...]\n"
		   "       landspeed-engine send HOST [OPTION...] --files PATH...\n");
	help_print(send_tables);
	(void)puts(
	    "\nBytes take k, M, G, T, Ki, Mi, Gi; times ns, us, ms, s, min; rates k, M, G, T.");
}

static int word_refuse(int id, char *const *argv, struct failure *failure)
{
	const char *word = argv[optind - 1];
	if (id == ':')
		return failure_set(failure, "%s needs a value; see 'landspeed-engine %s --help'",
				   word, argv[0]);
	return failure_set(failure,
			   "'%s' is not an option of '%s'; see 'landspeed-engine %s --help'", word,
			   argv[0], argv[0]);
}

static int options_parse(int argc, char **argv, const struct option_table *const *tables,
			 struct options *options, struct failure *failure)
{
	const struct option_rule *rules[RULES_MAX];
	struct option known[RULES_MAX + 1] = {0};
	int count = 0;
	for (; *tables != NULL; tables++) {
		for (size_t i = 0; i < (*tables)->count && count < RULES_MAX; i++, count++) {
			rules[count] = &(*tables)->rules[i];
			known[count].name = rules[count]->name;
			known[count].has_arg =
			    rules[count]->argument != NULL ? required_argument : no_argument;
			known[count].val = FIRST_ID + count;
		}
	}
	opterr = 0;
	optind = 0; /* glibc: start anew, so that tests may parse many command lines */
	int id;
	while ((id = getopt_long(argc, argv, ":", known, NULL)) != -1) {
		if (id < FIRST_ID)
			return word_refuse(id, argv, failure);
		const struct option_rule *rule = rules[id - FIRST_ID];
		if (rule->apply(rule->name, optarg, options, failure) != 0)
			return -1;
	}
	return 0;
}

static const struct options defaults = {
    .port = 5201,
    .interval_ns = UINT64_C(100000000),
    .report_ns = UINT64_C(1000000000),
    .idle_timeout_ns = UINT64_C(30000000000),
    .streams = 1,
    .dscp = DSCP_NONE,
    .admission = {.clients = 1, .per_address = 32, .max_streams = STREAMS_LIMIT, .modes = UINT_MAX},
};

int options_parse_receive(int argc, char **argv, struct options *options, struct failure *failure)
{
	*options = defaults;
	if (options_parse(argc, argv, receive_tables, options, failure) != 0)
		return -1;
	if (optind < argc)
		return failure_set(failure, "'%s' is too much: receive takes options only",
				   argv[optind]);
	return options_check_server(options, failure);
}

int options_parse_send(int argc, char **argv, struct options *options, struct failure *failure)
{
	*options = defaults;
	if (options_parse(argc, argv, send_tables, options, failure) != 0)
		return -1;
	if (options->help)
		return 0;
	if (optind == argc)
		return failure_set(failure, "send needs the HOST to send to");
	options->host = argv[optind];
	options->paths = argv + optind + 1;
	options->path_count = (unsigned)(argc - optind - 1);
	if (options->path_count > 0 && !options->files)
		return failure_set(failure,
				   "'%s' is too much: send takes one HOST, and PATHs after --files",
				   argv[optind + 1]);
	return options_check_send(options, failure);
}
