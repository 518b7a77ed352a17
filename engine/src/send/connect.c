#include "base/clock.h"
#include "control/session.h"
#include "files/wanted.h"
#include "net/net.h"
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

/* Waits for one nonblocking connect. 0 or a positive errno; EINTR when interrupted. */
static int connect_finish(struct send_state *state, int fd)
{
	int error = send_wait_start(state) == 0 ? 0 : EINVAL;
	waiter_watch(state->waiter, SLOT_CONTROL, fd, POLLOUT);
	while (error == 0 && !waiter_ready(state->waiter, SLOT_CONTROL)) {
		if (send_wait(state) != 0)
			error = EINTR;
		else if (waiter_ready(state->waiter, SLOT_TIMER))
			error = ETIMEDOUT;
	}
	waiter_forget(state->waiter, SLOT_CONTROL);
	(void)waiter_disarm(state->waiter, &state->failure);
	return error != 0 ? error : net_connect_status(fd);
}

/* --bind and --bind-device hold for the control connection too: its peer is the data's. */
static int way_choose(const struct send_state *state, int fd, const struct address *address,
		      struct failure *failure)
{
	const struct options *options = state->options;
	if (options->device != NULL && tune_device(fd, options->device, failure) != 0)
		return -1;
	return options->bind != NULL ? net_bind_source(fd, options->bind, address, failure) : 0;
}

/* A connected socket; -1 with *failure set to why this address did not do. */
static int address_connect(struct send_state *state, const struct addrinfo *entry,
			   struct failure *failure)
{
	char text[ADDRESS_TEXT_BYTES];
	struct address address = {.length = entry->ai_addrlen};
	memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
	int fd = net_socket(&address, failure);
	if (fd < 0)
		return -1;
	int error = 0;
	if (way_choose(state, fd, &address, failure) == 0 &&
	    net_connect(fd, &address, failure) == 0 && (error = connect_finish(state, fd)) == 0)
		return fd;
	net_address_text(&address, text);
	(void)failure_set_errno(failure, error, "cannot connect to %s", text);
	(void)close(fd);
	return -1;
}

static int control_open(struct send_state *state)
{
	struct addrinfo *list;
	struct failure first = {0};
	int fd = -1;
	if (net_resolve(state->options->host, state->options->port, state->options->family, &list,
			&state->failure) != 0)
		return -1;
	for (struct addrinfo *entry = list; entry != NULL && fd < 0 && state->signal == 0;
	     entry = entry->ai_next)
		fd = address_connect(state, entry, &first);
	freeaddrinfo(list);
	if (fd < 0)
		return failure_set(&state->failure, "%s", first.text);
	state->control = control_create(fd, &state->failure);
	return state->control != NULL ? 0 : -1;
}

/* With a key it is the key's: a token is then of no use, whoever sent it. */
static int secret_choose(struct send_state *state)
{
	const uint8_t *secret = control_secret(state->control);
	if (secret == NULL && !state->grant.has_token)
		return failure_set(&state->failure, "grant: token is missing");
	memcpy(state->secret, secret != NULL ? secret : state->grant.token, SECRET_BYTES);
	return 0;
}

/* How the server shall send, where it does. */
static void wishes_make(const struct options *options, struct wishes *wishes)
{
	*wishes = (struct wishes){.send_way = options->send_way,
				  .pacing_bps = options->pacing_bps,
				  .pacing_total_bps = options->pacing_total_bps,
				  .notsent_bytes = options->notsent_bytes,
				  .stagger_ns = options->stagger_ns,
				  .dscp = options->dscp};
	if (options->congestion != NULL)
		(void)snprintf(wishes->congestion, sizeof(wishes->congestion), "%s",
			       options->congestion);
}

static void request_make(struct send_state *state)
{
	const struct options *options = state->options;
	struct request *request = &state->request;
	*request = (struct request){
	    .kind = options->files ? REQUEST_FILES : options->probe,
	    .direction = options->direction,
	    .streams = options->streams,
	    .window_bytes = options->window_bytes,
	    .window_exact = options->window_exact,
	    .bytes = state->files != NULL ? files_send_bytes(state) : options->bytes,
	    .duration_ns = options->duration_ns,
	    .receive = options->receive,
	    .payload_seed = state->sending.seed,
	    .block_bytes = state->sending.block_bytes,
	    .mptcp = options->mptcp,
	    .omit_ns = options->omit_ns,
	    .protect = options->protect,
	};
	wishes_make(options, &request->wishes);
	request->probe = (struct probe){.request_bytes = options->request_bytes,
					.response_bytes = options->response_bytes,
					.fresh = options->fresh,
					.rate_bps = options->rate_bps};
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

int send_negotiate(struct send_state *state)
{
	cJSON *message;
	const struct options *options = state->options;
	if (control_open(state) != 0)
		return -1;
	send_blocks_choose(state);
	request_make(state);
	if (session_authenticate(state->waiter, state->control,
				 options->key != NULL ? &state->key : NULL,
				 options->idle_timeout_ns, &state->signal, &state->failure) != 0 ||
	    session_send(state->control, request_message(state), &state->failure) != 0 ||
	    session_expect(state->waiter, state->control, MESSAGE_GRANT, options->idle_timeout_ns,
			   &message, &state->signal, &state->failure) != 0)
		return -1;
	int status = grant_decode(message, &state->grant, &state->failure);
	cJSON_Delete(message);
	state->granted = status == 0;
	return status == 0 ? secret_choose(state) : -1;
}
