#include "base/descriptors.h"
#include "base/log.h"
#include "base/number.h"
#include "base/output.h"
#include "command/commands.h"
#include "files/root.h"
#include "probe/serve.h"
#include "receive/receive.h"
#include "server/children.h"
#include "server/server.h"
#include "server/third_party.h"
#include "session/serve.h"

#include <string.h>
#include <unistd.h>

static int session_run(struct served_session *session, const struct server_session *server)
{
	struct receive_state *state = session->receive;
	if (state->request.kind == REQUEST_ROUND_TRIPS)
		return trip_serve(state);
	if (state->request.kind == REQUEST_DATAGRAMS)
		return datagram_serve(state);
	if (served_session_prepare(session, server->client->message, server->serve_root) != 0 ||
	    receive_negotiate(state) != 0)
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
	return served_session_run(session);
}

/* The files first: when the sender has its result, ours are whole. */
static void session_tell(struct served_session *session)
{
	struct receive_state *state = session->receive;
	bool read = request_client_sends(&state->request);
	const struct receiver_report *moved = read ? &state->report : &session->send.report;
	struct failure unwritten = {0};
	(void)samples_close(state->samples, &unwritten);
	(void)samples_close(state->tcp_info, &unwritten);
	if (unwritten.set)
		(void)failure_set(&state->failure, "%s", unwritten.text);
	cJSON *report = served_session_report(session);
	cJSON *fields = cJSON_CreateObject();
	json_add_text(fields, "peer", state->peer);
	if (output_write(state->options->json, report, &unwritten) != 0)
		(void)failure_set(&state->failure, "%s", unwritten.text);
	if (read && state->reported && options_tell(state->options))
		receive_tell(state, stdout);
	json_add_bool(fields, "complete", !state->failure.set);
	json_add_u64(fields, "bytes", moved->bytes);
	json_add_seconds(fields, "duration_s", moved->duration_ns);
	if (state->failure.set)
		log_event("end", fields, "Error: session with %s: %s", state->peer,
			  state->failure.text);
	else if (state->request.kind == REQUEST_ROUND_TRIPS)
		log_event("end", fields, "%s: %llu round trips answered", state->peer,
			  (unsigned long long)moved->bytes);
	else
		log_event("end", fields, "%s: %s%.3f GB in %.3f s", state->peer,
			  read ? "" : "sent ", (double)moved->bytes / 1e9,
			  (double)moved->duration_ns / 1e9);
	cJSON_Delete(report);
}

static void session_release(struct served_session *session)
{
	struct receive_state *state = session->receive;
	served_session_release(session);
	if (state->streams != NULL) {
		streams_stop(state->streams);
		streams_join(state->streams);
	}
	struct host_usage ignored;
	host_meter_stop(state->meter, &ignored);
	sampler_destroy(state->sampler);
	streams_destroy(state->streams);
	streams_destroy(state->reverse);
	if (state->data_listener >= 0)
		(void)close(state->data_listener);
	receiver_report_clear(&state->report);
	waiter_destroy(state->waiter);
}

static int session_serve(const struct server_session *session)
{
	if (session->client->request.kind == REQUEST_THIRD_PARTY)
		return third_party_serve(session);
	struct receive_state state = {.options = session->options,
				      .control = session->client->control,
				      .request = session->client->request,
				      .requested = true,
				      .channel = session->shares ? session->channel : -1,
				      .data_listener = -1,
				      .grant.session = session->number,
				      .root = session->root};
	struct served_session served = {.receive = &state};
	(void)memcpy(state.peer, session->client->peer, sizeof(state.peer));
	state.waiter = waiter_create(&state.failure);
	bool failed = state.waiter == NULL || session_run(&served, session) != 0;
	session_tell(&served);
	/* From its result on the sender may go, and come again. */
	server_session_leave(session);
	served_session_deliver(&served);
	failed = failed || state.failure.set;
	session_release(&served);
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
	int serve_root = -1;
	struct key *key = NULL;
	struct confined_user user = {0};
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
	if (options.key != NULL && (key = key_read(options.key, &failure)) == NULL) {
		output_note("Error: %s", failure.text);
		return EXIT_USAGE;
	}
	if (options.user != NULL && confine_user_find(options.user, &user, &failure) != 0) {
		output_note("Error: %s", failure.text);
		return EXIT_USAGE;
	}
	if (options.directory != NULL)
		root = root_open("directory", options.directory, &failure);
	if (options.serve_directory != NULL)
		serve_root = root_open("serve-directory", options.serve_directory, &failure);
	if (failure.set) {
		output_note("Error: %s", failure.text);
		return EXIT_USAGE;
	}
	options.admission.max_streams = (unsigned)number_least(
	    options.admission.max_streams, descriptors_for_streams(CHILDREN_LIMIT));
	options.admission.files = root >= 0;
	options.admission.serves = serve_root >= 0;
	const struct server_plan plan = {.options = &options,
					 .root = root,
					 .serve_root = serve_root,
					 .key = key,
					 .user = user,
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
	if (serve_root >= 0)
		(void)close(serve_root);
	key_forget(key);
	return status;
}
