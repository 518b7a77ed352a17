#include "base/output.h"
#include "command/commands.h"
#include "control/key.h"

#include <stdio.h>
#include <string.h>

static void key_help(void)
{
	(void)puts(
	    "usage: landspeed-engine key FILE\n\n"
	    "Makes a new random key in a new FILE that only its owner can read (0600). Both ends "
	    "need\nthe same: carry it over by a safe way (scp), and give it to each as --key "
	    "FILE.");
}

int key_main(int argc, char **argv)
{
	struct failure failure = {0};
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		key_help();
		return 0;
	}
	if (argc != 2 || argv[1][0] == '-') {
		output_note("key takes one FILE; see 'landspeed-engine key --help'");
		return EXIT_USAGE;
	}
	if (key_write(argv[1], &failure) != 0) {
		output_note("Error: %s", failure.text);
		return EXIT_FAILED;
	}
	return 0;
}
