#include "commands.h"
#include "files_receive.h"
#include "files_root.h"
#include "log.h"
#include "output.h"
#include "receive.h"
#include "server.h"
#include "third_party.h"

#include <string.h>
#include <unistd.h>

static int session_run(struct receive_state *state)
{
	if (receive_negotiate(state) != 0)
		return -1;
	if (state->options->samples != NULL &&
	    (state->samples =
		 samples_open(state->options->samples, SAMPLES_SERIES, &state->failure)) == NULL)
		return -1;
	if (state->options->tcp_info != NULL &&
	    (state->tcp_info =
		 samples_open(state->options->tcp_info, SAMPLES_TCP_INFO, &state->failure)) == NULL)
		return -1;
	if (receive_gather(state) != 0)
		return -1;
	return state->request.kind == REQUEST_FILES ? files_receive(state)
						    : receive_transfer(state);
}

/* The files first: when the sender has its result, ours are whole. */
static void session_tell(struct receive_state *state)
{
	struct failure unwritten = {0};
	(void)samples_close(state->samples, &unwritten);
	(void)samples_close(state->tcp_info, &unwritten);
	if (unwritten.set)
		(void)failure_set(&state->failure, "%s", unwritten.text);
	cJSON *report = receive_report(state);
	cJSON *fields = cJSON_CreateObject();
	json_add_text(fields, "peer", state->peer);
	if (output_write(state->options->json, report, &unwritten) != 0)
		(void)failure_set(&state->failure, "%s", unwritten.text);
	if (state->reported && options_tell(state->options))
		receive_tell(state, stdout);
	json_add_bool(fields, "complete", !state->failure.set);
	json_add_u64(fields, "bytes", state->report.bytes);
	json_add_seconds(fields, "duration_s", state->report.duration_ns);
	if (state->failure.set)
		log_event("end", fields, "Error: session with %s: %s", state->peer,
			  state->failure.text);
	else
		log_event("end", fields, "%s: %.3f GB in %.3f s", state->peer,
			  (double)state->report.bytes / 1e9,
			  (double)state->report.duration_ns / 1e9);
	cJSON_Delete(report);
}

static void session_release(struct receive_state *state)
{
	if (state->streams != NULL) {
		streams_stop(state->streams);
		streams_join(state->streams);
	}
	struct host_usage ignored;
	host_meter_stop(state->meter, &ignored);
	sampler_destroy(state->sampler);
	streams_destroy(state->streams);
	if (state->data_listener >= 0)
		(void)close(state->data_listener);
	receiver_report_clear(&state->report);
	waiter_destroy(state->waiter);
}

static int session_serve(const struct session *session)
{
	if (session->client->request.kind == REQUEST_THIRD_PARTY)
		return third_party_serve(session);
	struct failure ignored = {0};
	struct receive_state state = {.options = session->options,
				      .control = session->client->control,
				      .request = session->client->request,
				      .requested = true,
				      .data_listener = -1,
				      .root = session->root};
	(void)memcpy(state.peer, session->client->peer, sizeof(state.peer));
	state.waiter = waiter_create(&state.failure);
	bool failed = state.waiter == NULL || session_run(&state) != 0;
	session_tell(&state);
	/* From its result on the sender may go, and come again. */
	session_leave(session);
	if (state.reported)
		receive_deliver(&state);
	else if (state.failure.set)
		(void)control_send(state.control, error_encode(state.failure.text), &ignored);
	failed = failed || state.failure.set;
	session_release(&state);
	if (failed && state.signal != 0)
		return EXIT_INTERRUPTED;
	return failed ? EXIT_FAILED : 0;
}

static void session_missing(const struct options *options, int signal)
{
	struct receive_state state = {.options = options, .signal = signal};
	(void)failure_set(&state.failure, "interrupted by %s before a transfer",
			  signal_name(signal));
	cJSON *report = receive_report(&state);
	struct failure failure = {0};
	if (output_write(options->json, report, &failure) != 0)
		output_note("Error: %s", failure.text);
	cJSON_Delete(report);
}

int receive_main(int argc, char **argv)
{
	int root = -1;
	struct key key;
	struct options options;
	struct failure failure = {0};
	if (options_parse_receive(argc, argv, &options, &failure) != 0) {
		output_note("%s", failure.text);
		return EXIT_USAGE;
	}
	if (options.help) {
		options_help_receive();
		return 0;
	}
	log_as_json(options.log_json);
	if (options.key != NULL && key_read(options.key, &key, &failure) != 0) {
		output_note("Error: %s", failure.text);
		return EXIT_USAGE;
	}
	if (options.directory != NULL && (root = root_open(options.directory, &failure)) < 0) {
		output_note("Error: %s", failure.text);
		return EXIT_USAGE;
	}
	options.admission.files = root >= 0;
	const struct server_plan plan = {.options = &options,
					 .root = root,
					 .key = options.key != NULL ? &key : NULL,
					 .admission = options.admission,
					 .serve = session_serve,
					 .unserved = session_missing};
	int status = EXIT_FAILED;
	if (output_check(options.json, &failure) == 0)
		status = server_run(&plan, &failure);
	if (failure.set)
		output_note("Error: %s", failure.text);
	if (root >= 0)
		(void)close(root);
	key_forget(&key);
	return status;
}
