#include "base/output.h"
#include "command/client.h"
#include "command/commands.h"

int send_main(int argc, char **argv)
{
	struct options options;
	struct failure failure = {0};
	if (options_parse_send(argc, argv, &options, &failure) != 0) {
		output_note("%s", failure.text);
		return EXIT_USAGE;
	}
	if (options.help) {
		options_help_send();
		return 0;
	}
	return client_run(&options, -1);
}
