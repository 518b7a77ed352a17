#include "base/clock.h"
#include "control/dial.h"
#include "control/session.h"
#include "files/wanted.h"
#include "net/net.h"
#include "protect/ktls.h"
#include "send/files.h"
#include "send/send.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int send_wait(struct send_state *state)
{
	if (waiter_wait(state->waiter, &state->failure) != 0)
		return -1;
	if (waiter_ready(state->waiter, SLOT_SIGNAL)) {
		state->signal = waiter_take_signal(state->waiter);
		return failure_set(&state->failure, "interrupted by %s",
				   signal_name(state->signal));
	}
	return 0;
}

int send_wait_start(struct send_state *state)
{
	return waiter_arm(state->waiter, clock_monotonic_ns() + state->options->connect_timeout_ns,
			  &state->failure);
}

static int control_open(struct send_state *state)
{
	const struct options *options = state->options;
	const struct dial dial = {.host = options->host,
				  .port = options->port,
				  .family = options->family,
				  .bind = options->bind,
				  .device = options->device,
				  .timeout_ns = options->connect_timeout_ns};
	state->control = control_dial(state->waiter, &dial, &state->signal, &state->failure);
	return state->control != NULL
		   ? control_await(state->control, options->stall_ns, &state->failure)
		   : -1;
}

/* With a key it is the key's: a token is then of no use, whoever sent it. */
static int secret_choose(struct send_state *state)
{
	const uint8_t *secret = control_secret(state->control);
	if (secret == NULL && !state->grant.has_token)
		return failure_set(&state->failure, "grant: token is missing");
	state->secret = secret != NULL ? secret : state->grant.token;
	return 0;
}

static void request_make(struct send_state *state)
{
	const struct options *options = state->options;
	struct request *request = &state->request;
	*request = options->asked;
	if (options->files)
		request->kind = REQUEST_FILES;
	if (state->files != NULL)
		request->bytes = files_send_bytes(state);
	request->payload_seed = state->sending.seed;
	request->block_bytes = state->sending.block_bytes;
	if (options->congestion != NULL)
		(void)snprintf(request->settings.congestion, sizeof(request->settings.congestion),
			       "%s", options->congestion);
	if (request->kind == REQUEST_DATAGRAMS)
		clock_name(request->probe.clock, sizeof(request->probe.clock));
}

static cJSON *request_message(const struct send_state *state)
{
	cJSON *message = request_encode(&state->request);
	if (state->request.kind == REQUEST_FILES && request_server_sends(&state->request))
		wanted_add(message, state->options->paths, state->options->path_count);
	return message;
}

/* A forwarded port is the one that we know, not the server's own. */
static int data_port_find(struct send_state *state)
{
	struct address address;
	if (net_peer_address(control_fd(state->control), &address, &state->failure) != 0)
		return -1;
	state->grant.data_port = net_port(&address);
	return 0;
}

int send_negotiate(struct send_state *state)
{
	cJSON *message;
	const struct options *options = state->options;
	if (options->asked.protect == PROTECT_KTLS && ktls_check(&state->failure) != 0)
		return -1;
	if (control_open(state) != 0)
		return -1;
	send_blocks_choose(state);
	request_make(state);
	if (session_authenticate(state->waiter, state->control, state->key,
				 options->idle_timeout_ns, &state->signal, &state->failure) != 0 ||
	    session_send(state->control, request_message(state), &state->failure) != 0 ||
	    session_expect(state->waiter, state->control, MESSAGE_GRANT, options->idle_timeout_ns,
			   &message, &state->signal, &state->failure) != 0)
		return -1;
	int status = grant_decode(message, &state->grant, &state->failure);
	cJSON_Delete(message);
	state->granted = status == 0;
	if (status == 0 && state->grant.data_port == 0)
		status = data_port_find(state);
	return status == 0 ? secret_choose(state) : -1;
}
