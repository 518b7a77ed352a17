#include "command/client.h"

#include "base/exits.h"
#include "base/output.h"
#include "send/files.h"
#include "send/send.h"
#include "session/client.h"

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
		state->intervals = intervals_create(stdout, options->asked.streams);
	if (options->live != NULL &&
	    (state->live = live_open(options->live, &state->failure)) == NULL)
		return -1;
	return 0;
}

static int send_run(struct client_session *session)
{
	struct send_state *state = session->send;
	if (state->options->key != NULL &&
	    (state->key = key_read(state->options->key, &state->failure)) == NULL) {
		state->usage = true;
		return -1;
	}
	state->waiter = waiter_create(&state->failure);
	if (state->waiter == NULL || outputs_open(state) != 0)
		return -1;
	bool here = state->options->asked.direction != DIRECTION_REVERSE;
	if (state->options->files && here && files_prepare(state) != 0)
		return -1;
	if (!state->options->files && send_prepare(state) != 0)
		return -1;
	if (send_negotiate(state) != 0 || send_connect(state) != 0)
		return -1;
	return client_session_run(session);
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
	streams_destroy(state->reverse);
	intervals_destroy(state->intervals);
	files_send_release(state);
	receiver_report_clear(&state->report);
	control_destroy(state->control);
	key_forget(state->key);
	waiter_destroy(state->waiter);
	payload_close(&state->sending.payload);
}

int client_run(const struct options *options, int root)
{
	struct failure failure = {0};
	struct send_state state = {.options = options, .sending.payload.fd = -1};
	struct client_session session = {.send = &state, .root = root};
	(void)send_run(&session);
	outputs_close(&state);
	if (options_tell(options))
		client_session_tell(&session, stdout);
	client_session_summary(&session);
	cJSON *report = client_session_report(&session);
	if (output_write(options->json, report, &failure) != 0)
		output_note("Error: %s", failure.text);
	bool complete = json_get_true(report, "complete");
	cJSON_Delete(report);
	int status = complete && !failure.set ? 0 : EXIT_FAILED;
	if (state.usage)
		status = EXIT_USAGE;
	client_session_release(&session);
	send_release(&state);
	return status;
}
