#include "options/options.h"

#include "base/limits.h"
#include "options/option.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>

static const struct option_table *const receive_tables[] = {
    &options_of_every,         &options_of_both,
    &options_of_report,        &options_of_receive,
    &options_of_server,        &options_of_directory,
    &options_of_writing,       &options_of_affinity,
    &options_of_least_protect, NULL};
static const struct option_table *const send_tables[] = {&options_of_every,
							 &options_of_both,
							 &options_of_report,
							 &options_of_send,
							 &options_of_files,
							 &options_of_payload,
							 &options_of_path,
							 &options_of_protect,
							 &options_of_direction,
							 &options_of_way,
							 NULL};

static const struct option_table *const get_tables[] = {&options_of_every,
							&options_of_both,
							&options_of_report,
							&options_of_get,
							&options_of_writing,
							&options_of_send,
							&options_of_path,
							&options_of_protect,
							&options_of_direction,
							&options_of_way,
							NULL};

void options_help_get(void)
{
	(void)puts("usage: landspeed-engine get HOST [OPTION...] PATH...\n");
	option_help(get_tables);
	(void)puts("\nPATHs are those of the server's --serve-directory. What limits a transfer of "
		   "memory\n(--time, --bytes, --omit, --receive) does not go with it.");
}

void options_help_receive(void)
{
	(void)puts("usage: landspeed-engine receive [OPTION...]\n");
	option_help(receive_tables);
}

void options_help_send(void)
{
	(void)puts("usage: landspeed-engine send HOST [OPTION...]\n"
		   "       landspeed-engine send HOST [OPTION...] --files PATH...\n");
	option_help(send_tables);
	(void)puts(
	    "\nBytes take k, M, G, T, Ki, Mi, Gi; times ns, us, ms, s, min; rates k, M, G, T.");
}

static const struct options defaults = {
    .port = 5201,
    .interval_ns = UINT64_C(100000000),
    .report_ns = UINT64_C(1000000000),
    .idle_timeout_ns = UINT64_C(30000000000),
    .stall_ns = UINT64_C(30000000000),
    .connect_timeout_ns = UINT64_C(30000000000),
    .asked = {.streams = 1, .settings = {.dscp = DSCP_NONE}},
    .admission = {.clients = 1,
		  .per_address = 32,
		  .max_streams = STREAMS_LIMIT,
		  .min_rate_bps = 100,
		  .modes = UINT_MAX},
};

void options_default(struct options *options)
{
	*options = defaults;
}

const struct third_party_option *options_forwarded(void)
{
	static struct third_party_option list[THIRD_PARTY_OPTIONS + 1];
	unsigned count = 0;
	for (const struct option_table *const *table = send_tables; *table != NULL; table++) {
		for (size_t i = 0; i < (*table)->count && count < THIRD_PARTY_OPTIONS; i++) {
			const struct option_rule *rule = &(*table)->rules[i];
			if (rule->scope == PASSED)
				list[count++] = (struct third_party_option){
				    .name = rule->name, .argument = rule->argument};
		}
	}
	list[count].name = NULL;
	return list;
}

void options_of_request(const struct request *request, const struct options *server,
			struct options *options)
{
	*options = defaults;
	options->asked = *request;
	options->port = server->port;
	options->quiet = true;
	options->interval_ns = server->interval_ns;
	options->stall_ns = server->stall_ns;
	options->report_ns = server->report_ns;
	options->affinity = server->affinity;
	options->direct = server->direct;
	options->admission = server->admission;
	options->files = request->kind == REQUEST_FILES;
	options->seeded = request->receive == RECEIVE_VERIFY;
	options->congestion =
	    request->settings.congestion[0] != '\0' ? request->settings.congestion : NULL;
}

int options_parse_receive(int argc, char **argv, struct options *options, struct failure *failure)
{
	*options = defaults;
	if (option_parse_all(argc, argv, receive_tables, options, failure) != 0)
		return -1;
	if (optind < argc)
		return failure_set(failure, "'%s' is too much: receive takes options only",
				   argv[optind]);
	if (options->help)
		return 0;
	if (options_check_directory(options, failure) != 0)
		return -1;
	return options_check_server(options, failure);
}

int options_parse_send(int argc, char **argv, struct options *options, struct failure *failure)
{
	*options = defaults;
	if (option_parse_all(argc, argv, send_tables, options, failure) != 0)
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

int options_parse_get(int argc, char **argv, struct options *options, struct failure *failure)
{
	*options = defaults;
	options->directory = ".";
	options->files = true;
	if (option_parse_all(argc, argv, get_tables, options, failure) != 0)
		return -1;
	if (options->help)
		return 0;
	if (optind == argc)
		return failure_set(failure, "get needs the HOST that has the files");
	options->host = argv[optind];
	options->paths = argv + optind + 1;
	options->path_count = (unsigned)(argc - optind - 1);
	if (options->asked.direction != DIRECTION_FORWARD)
		return failure_set(failure, "get is that direction: without --reverse and --bidir");
	if (options->asked.window_exact && options->asked.window_bytes == 0)
		return failure_set(failure, "--window-exact needs --window BYTES");
	if (options_check_protect(options, failure) != 0 ||
	    options_check_session(options, failure) != 0)
		return -1;
	return options_check_get(options, failure);
}
