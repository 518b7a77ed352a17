#include "commands.h"
#include "files_receive.h"
#include "files_root.h"
#include "output.h"
#include "receive.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

struct server {
	const struct options *options;
	struct waiter *waiter;
	int listener;
	int root; /* of --directory, else -1 */
	struct key key;
	bool usage;    /* the fault is in what the command line named */
	bool finished; /* a signal, or the one session of --one-off */
	bool failed;
	bool written; /* a result was */
};

static void busy_reply(int listener)
{
	struct address peer;
	struct failure ignored = {0};
	int fd = net_accept(listener, &peer);
	if (fd < 0)
		return;
	struct control *control = control_create(fd, &ignored);
	if (control == NULL)
		return;
	(void)control_send(control, error_encode("the receiver is busy with another transfer"),
			   &ignored);
	control_destroy(control);
}

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

static void session_tell(struct receive_state *state)
{
	struct failure ignored = {0};
	/* From its result on the sender may go: whoever comes after it waits instead of being
	 * refused. */
	waiter_forget(state->waiter, SLOT_LISTENER);
	if (state->reported) {
		receive_deliver(state);
	} else if (state->failure.set) {
		/* The sender is not gone in most cases, and should know why. */
		(void)control_send(state->control, error_encode(state->failure.text), &ignored);
	}
	if (state->reported && options_tell(state->options))
		receive_tell(state, stdout);
	if (state->failure.set)
		output_note("Error: session with %s: %s", state->peer, state->failure.text);
	else
		output_note("%s: %.3f GB in %.3f s", state->peer, (double)state->report.bytes / 1e9,
			    (double)state->report.duration_ns / 1e9);
}

static void session_release(struct receive_state *state)
{
	if (state->streams != NULL)
		streams_stop(state->streams);
	struct host_usage ignored;
	host_meter_stop(state->meter, &ignored);
	sampler_destroy(state->sampler);
	streams_destroy(state->streams);
	if (state->data_listener >= 0)
		(void)close(state->data_listener);
	receiver_report_clear(&state->report);
	control_destroy(state->control);
}

static void result_write(struct server *server, const struct receive_state *state)
{
	struct failure failure = {0};
	cJSON *report = receive_report(state);
	if (output_write(server->options->json, report, &failure) != 0) {
		output_note("Error: %s", failure.text);
		server->failed = true;
	}
	cJSON_Delete(report);
	server->written = true;
}

static void session_serve(struct server *server, int fd, const struct address *peer)
{
	struct receive_state state = {.options = server->options,
				      .key = server->options->key != NULL ? &server->key : NULL,
				      .waiter = server->waiter,
				      .data_listener = -1,
				      .root = server->root};
	net_address_text(peer, state.peer);
	state.control = control_create(fd, &state.failure);
	if (state.control == NULL)
		return;
	waiter_serve(server->waiter, SLOT_LISTENER, server->listener, busy_reply);
	bool failed = session_run(&state) != 0;
	session_tell(&state);
	struct failure unwritten = {0};
	(void)samples_close(state.samples, &unwritten);
	(void)samples_close(state.tcp_info, &unwritten);
	if (unwritten.set) {
		output_note("Error: %s", unwritten.text);
		(void)failure_set(&state.failure, "%s", unwritten.text);
		failed = true;
	}
	/* A stranger on the port, or a scan, is not the session that --one-off waits for. */
	if (state.requested)
		result_write(server, &state);
	if (state.signal != 0 || (state.requested && server->options->one_off)) {
		server->finished = true;
		server->failed = server->failed || failed;
	}
	session_release(&state);
	waiter_watch(server->waiter, SLOT_LISTENER, server->listener, POLLIN);
}

static void server_interrupt(struct server *server)
{
	struct receive_state state = {.signal = waiter_take_signal(server->waiter)};
	server->finished = true;
	if (!server->options->one_off)
		return;
	/* It was started for one transfer and saw none. */
	server->failed = true;
	(void)failure_set(&state.failure, "interrupted by %s before a transfer",
			  signal_name(state.signal));
	result_write(server, &state);
}

static int server_run(struct server *server, struct failure *failure)
{
	struct address address;
	char text[ADDRESS_TEXT_BYTES];
	if (server->options->key != NULL &&
	    key_read(server->options->key, &server->key, failure) != 0) {
		server->usage = true;
		return -1;
	}
	if (server->options->directory != NULL &&
	    (server->root = root_open(server->options->directory, failure)) < 0) {
		server->usage = true;
		return -1;
	}
	if (output_check(server->options->json, failure) != 0)
		return -1;
	server->waiter = waiter_create(failure);
	if (server->waiter == NULL)
		return -1;
	server->listener = net_listen_on(server->options->bind, server->options->port, failure);
	if (server->listener < 0 || net_local_address(server->listener, &address, failure) != 0)
		return -1;
	net_address_text(&address, text);
	output_note("listening on %s", text);
	waiter_watch(server->waiter, SLOT_LISTENER, server->listener, POLLIN);
	while (!server->finished) {
		if (waiter_wait(server->waiter, failure) != 0)
			return -1;
		if (waiter_ready(server->waiter, SLOT_SIGNAL)) {
			server_interrupt(server);
		} else if (waiter_ready(server->waiter, SLOT_LISTENER)) {
			struct address peer;
			int fd = net_accept(server->listener, &peer);
			if (fd >= 0)
				session_serve(server, fd, &peer);
		}
	}
	return server->failed ? -1 : 0;
}

int receive_main(int argc, char **argv)
{
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
	struct server server = {.options = &options, .listener = -1, .root = -1};
	int status = server_run(&server, &failure);
	if (failure.set)
		output_note("Error: %s", failure.text);
	if (server.listener >= 0)
		(void)close(server.listener);
	if (server.root >= 0)
		(void)close(server.root);
	waiter_destroy(server.waiter);
	key_forget(&server.key);
	if (server.usage)
		return EXIT_USAGE;
	return status == 0 ? 0 : EXIT_FAILED;
}
