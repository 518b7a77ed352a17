#include "base/clock.h"
#include "base/descriptors.h"
#include "base/json.h"
#include "build_id.h"
#include "command/commands.h"
#include "command/hosts.h"

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

static const struct command commands[] = {
    {"receive", receive_main, "wait for transfers and read them"},
    {"send", send_main, "send to a receiver and report what it read"},
    {"get", get_main, "have a server send files, and write them here"},
    {"rr", round_trips_main, "measure round trips: request, answer, and the next request"},
    {"udp", datagrams_main, "send datagrams: which are lost, late, or out of order"},
    {"third-party", third_party_main, "have one host send to another, and get the result"},
    {"key", key_main, "make the key file that both ends need for --key"},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static void help_print(FILE *file)
{
	(void)fprintf(file, "usage: landspeed-engine COMMAND [OPTION...]\n\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		(void)fprintf(file, "  %-12s %s\n", commands[i].name, commands[i].summary);
	(void)fprintf(file, "\n'landspeed-engine COMMAND --help' lists its options;"
			    " 'landspeed-engine --version' the build.\n");
}

int main(int argc, char **argv)
{
	descriptors_hold_standard();
	json_start();
	descriptors_raise();
	clock_make_exact();
	const bool many = argc == 2 && strcmp(argv[1], HOSTS_WORD) == 0;
	if (many) {
		int status;
		if (!hosts_follow(&argc, &argv, &status))
			return status;
	}
	clock_wait_if_asked();
	if (sodium_init() < 0) {
		(void)fprintf(stderr, "landspeed-engine: libsodium cannot start\n");
		return EXIT_FAILED;
	}
	if (argc < 2) {
		help_print(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		help_print(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("landspeed-engine %s (build %s)\n", ENGINE_VERSION, ENGINE_BUILD);
		return 0;
	}
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(argv[1], commands[i].name) == 0) {
			int status = commands[i].run(argc - 1, argv + 1);
			if (many)
				hosts_leave(status);
			return status;
		}
	}
	(void)fprintf(stderr,
		      "landspeed-engine: '%s' is not a command; see 'landspeed-engine --help'\n",
		      argv[1]);
	return EXIT_USAGE;
}
