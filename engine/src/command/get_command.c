#include "base/output.h"
#include "command/client.h"
#include "command/commands.h"
#include "files/root.h"

#include <unistd.h>

int get_main(int argc, char **argv)
{
	struct options options;
	struct failure failure = {0};
	if (options_parse_get(argc, argv, &options, &failure) != 0) {
		output_note("%s", failure.text);
		return EXIT_USAGE;
	}
	if (options.help) {
		options_help_get();
		return 0;
	}
	int root = root_open("directory", options.directory, &failure);
	if (root < 0) {
		output_note("Error: %s", failure.text);
		return EXIT_USAGE;
	}
	int status = client_run(&options, root);
	(void)close(root);
	return status;
}
