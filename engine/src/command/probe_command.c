/* `rr` and `udp`. */
#include "base/output.h"
#include "command/commands.h"
#include "probe/datagram_client.h"
#include "probe/trip_client.h"

/* The control connection and the server's grant. */
static int link_open(struct send_state *link)
{
	if (link->options->key != NULL &&
	    (link->key = key_read(link->options->key, &link->failure)) == NULL) {
		link->usage = true;
		return -1;
	}
	link->waiter = waiter_create(&link->failure);
	if (link->waiter == NULL || output_check(link->options->json, &link->failure) != 0)
		return -1;
	return send_negotiate(link);
}

/* Writes the result, and deletes it. The exit status. */
static int result_write(const struct send_state *link, cJSON *report)
{
	struct failure failure = {0};
	if (output_write(link->options->json, report, &failure) != 0)
		output_note("Error: %s", failure.text);
	bool complete = json_get_true(report, "complete") && !failure.set;
	cJSON_Delete(report);
	if (link->usage)
		return EXIT_USAGE;
	return complete ? 0 : EXIT_FAILED;
}

static void link_close(struct send_state *link)
{
	streams_destroy(link->streams);
	control_destroy(link->control);
	key_forget(link->key);
	waiter_destroy(link->waiter);
}

int round_trips_main(int argc, char **argv)
{
	struct options options;
	struct failure failure = {0};
	if (options_parse_round_trips(argc, argv, &options, &failure) != 0) {
		output_note("%s", failure.text);
		return EXIT_USAGE;
	}
	if (options.help) {
		options_help_round_trips();
		return 0;
	}
	struct send_state link = {.options = &options, .sending.payload.fd = -1};
	struct trip_run run = {.link = &link};
	if (link_open(&link) == 0 && send_connect(&link) == 0)
		(void)trip_run(&run);
	trip_summary(&run);
	int status = result_write(&link, trip_report(&run));
	trip_release(&run);
	link_close(&link);
	return status;
}

int datagrams_main(int argc, char **argv)
{
	struct options options;
	struct failure failure = {0};
	if (options_parse_datagrams(argc, argv, &options, &failure) != 0) {
		output_note("%s", failure.text);
		return EXIT_USAGE;
	}
	if (options.help) {
		options_help_datagrams();
		return 0;
	}
	struct send_state link = {.options = &options, .sending.payload.fd = -1};
	struct datagram_run run = {.link = &link, .fd = -1, .event_fd = -1};
	if (link_open(&link) == 0)
		(void)datagram_run(&run);
	datagram_summary(&run);
	int status = result_write(&link, datagram_report(&run));
	datagram_release(&run);
	link_close(&link);
	return status;
}
