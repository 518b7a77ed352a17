#include "commands.h"
#include "files_send.h"
#include "output.h"
#include "send.h"

#include <unistd.h>

static int outputs_open(struct send_state *state)
{
	const struct options *options = state->options;
	if (output_check(options->json, &state->failure) != 0)
		return -1;
	if (options->samples != NULL &&
	    (state->samples = samples_open(options->samples, SAMPLES_SERIES, &state->failure)) ==
		NULL)
		return -1;
	if (options->tcp_info != NULL &&
	    (state->tcp_info =
		 samples_open(options->tcp_info, SAMPLES_TCP_INFO, &state->failure)) == NULL)
		return -1;
	if (options_tell(options))
		state->intervals = intervals_create(stdout, options->streams);
	if (options->live != NULL &&
	    (state->live = live_open(options->live, &state->failure)) == NULL)
		return -1;
	return 0;
}

static int send_run(struct send_state *state)
{
	if (state->options->key != NULL &&
	    key_read(state->options->key, &state->key, &state->failure) != 0) {
		state->usage = true;
		return -1;
	}
	state->waiter = waiter_create(&state->failure);
	if (state->waiter == NULL || outputs_open(state) != 0)
		return -1;
	if (state->options->files)
		return files_prepare(state) == 0 && send_negotiate(state) == 0 &&
			       send_connect(state) == 0
			   ? files_send(state)
			   : -1;
	if (send_prepare(state) != 0 || send_negotiate(state) != 0 || send_connect(state) != 0 ||
	    send_choose(state) != 0)
		return -1;
	return send_transfer(state);
}

/* Closing the files can fail as well, so it comes before the report. */
static void outputs_close(struct send_state *state)
{
	(void)samples_close(state->samples, &state->failure);
	(void)samples_close(state->tcp_info, &state->failure);
	(void)live_close(state->live, &state->failure);
}

static void send_release(struct send_state *state)
{
	/* Streams act for the sampler, which reads them; they reset before control closes. */
	if (state->streams != NULL) {
		streams_stop(state->streams);
		streams_join(state->streams);
	}
	sampler_destroy(state->sampler);
	streams_destroy(state->streams);
	intervals_destroy(state->intervals);
	files_send_release(state);
	receiver_report_clear(&state->report);
	control_destroy(state->control);
	key_forget(&state->key);
	waiter_destroy(state->waiter);
	payload_close(&state->sending.payload);
}

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
	struct send_state state = {.options = &options, .sending.payload.fd = -1};
	(void)send_run(&state);
	outputs_close(&state);
	if (options_tell(&options))
		send_tell(&state, stdout);
	send_summary(&state);
	cJSON *report = send_report(&state);
	if (output_write(options.json, report, &failure) != 0)
		output_note("Error: %s", failure.text);
	cJSON_Delete(report);
	int status = state.reported && !state.failure.set && !failure.set ? 0 : EXIT_FAILED;
	if (state.usage)
		status = EXIT_USAGE;
	send_release(&state);
	return status;
}
