#include "clock.h"
#include "net.h"
#include "send.h"
#include "session.h"
#include "window.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_NS (30 * NS_PER_S)

/* Until something other than a signal or the timer is ready; those are failures. */
static int connect_wait(struct send_state *state)
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

static int timer_start(struct send_state *state)
{
	return waiter_arm(state->waiter, clock_monotonic_ns() + CONNECT_NS, &state->failure);
}

/* Waits for one nonblocking connect. 0 or a positive errno; EINTR when interrupted. */
static int connect_finish(struct send_state *state, int fd)
{
	int error = timer_start(state) == 0 ? 0 : EINVAL;
	waiter_watch(state->waiter, SLOT_CONTROL, fd, POLLOUT);
	while (error == 0 && !waiter_ready(state->waiter, SLOT_CONTROL)) {
		if (connect_wait(state) != 0)
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
	if (net_resolve(state->options->host, state->options->port, &list, &state->failure) != 0)
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

int send_negotiate(struct send_state *state)
{
	cJSON *message;
	const struct options *options = state->options;
	if (control_open(state) != 0)
		return -1;
	send_blocks_choose(state);
	const struct request request = {
	    .kind = options->files ? REQUEST_FILES : REQUEST_MEMORY,
	    .streams = options->streams,
	    .window_bytes = options->window_bytes,
	    .window_exact = options->window_exact,
	    .bytes = options->bytes,
	    .duration_ns = options->duration_ns,
	    .receive = options->receive,
	    .payload_seed = state->sending.seed,
	    .block_bytes = state->sending.block_bytes,
	    .mptcp = options->mptcp,
	    .omit_ns = options->omit_ns,
	};
	if (session_authenticate(state->waiter, state->control,
				 options->key != NULL ? &state->key : NULL,
				 options->idle_timeout_ns, &state->signal, &state->failure) != 0 ||
	    session_send(state->control, request_encode(&request), &state->failure) != 0 ||
	    session_expect(state->waiter, state->control, MESSAGE_GRANT, options->idle_timeout_ns,
			   &message, &state->signal, &state->failure) != 0)
		return -1;
	int status = grant_decode(message, &state->grant, &state->failure);
	cJSON_Delete(message);
	state->granted = status == 0;
	return status;
}

uint64_t send_pacing_bps(const struct send_state *state)
{
	uint64_t own = state->options->pacing_bps;
	uint64_t share = state->options->pacing_total_bps / state->options->streams;
	if (share != 0 && (own == 0 || share < own))
		own = share;
	uint64_t granted = state->grant.pacing_bps;
	return own == 0 || (granted != 0 && granted < own) ? granted : own;
}

/* Buffers and congestion control must be set before the SYN leaves. */
static int socket_tune(struct send_state *state, unsigned index, int fd)
{
	const struct options *options = state->options;
	if (options->window_bytes != 0 &&
	    tune_window(fd, TUNE_SEND, window_sndbuf_ask(options->window_bytes), &state->failure) !=
		0)
		return -1;
	char congestion[CONGESTION_NAME_BYTES];
	if (congestion_of_stream(options->congestion, index, congestion) &&
	    tune_congestion(fd, congestion, &state->failure) != 0)
		return -1;
	if ((options->dscp != DSCP_NONE && tune_dscp(fd, options->dscp, &state->failure) != 0) ||
	    (options->mss != 0 && tune_mss(fd, options->mss, &state->failure) != 0) ||
	    (options->device != NULL && tune_device(fd, options->device, &state->failure) != 0))
		return -1;
	uint64_t notsent_bytes = send_notsent_bytes(state);
	if (notsent_bytes != 0 && tune_notsent(fd, notsent_bytes, &state->failure) != 0)
		return -1;
	uint64_t pacing_bps = send_pacing_bps(state);
	if (pacing_bps != 0 && tune_pacing(fd, pacing_bps, &state->failure) != 0)
		return -1;
	return 0;
}

static int streams_begin(struct send_state *state)
{
	struct address address;
	if (net_peer_address(control_fd(state->control), &address, &state->failure) != 0)
		return -1;
	net_set_port(&address, state->grant.data_port);
	for (unsigned i = 0; i < state->options->streams; i++) {
		const char *source = state->options->bind;
		int fd = net_socket_data(&address, state->options->mptcp, &state->failure);
		if (fd < 0)
			return -1;
		streams_adopt(state->streams, i, fd);
		if (socket_tune(state, i, fd) != 0 ||
		    (source != NULL &&
		     net_bind_source(fd, source, &address, &state->failure) != 0) ||
		    net_connect(fd, &address, &state->failure) != 0)
			return -1;
		waiter_watch(state->waiter, SLOT_PEERS + i, fd, POLLOUT);
	}
	return 0;
}

static int hello_send(struct send_state *state, unsigned index)
{
	uint8_t bytes[HELLO_BYTES];
	struct hello hello = {.stream = index};
	int fd = streams_fd(state->streams, index);
	int error = net_connect_status(fd);
	memcpy(hello.token, state->grant.token, TOKEN_BYTES);
	hello_encode(&hello, bytes);
	/* Fits whole into the empty buffer of a new connection. */
	if (error == 0 && send(fd, bytes, HELLO_BYTES, MSG_NOSIGNAL) != HELLO_BYTES)
		error = errno != 0 ? errno : EIO;
	if (error != 0)
		return failure_set_errno(&state->failure, error,
					 "cannot connect stream %u to port %u", index,
					 state->grant.data_port);
	return 0;
}

static int streams_finish(struct send_state *state)
{
	unsigned waiting = state->options->streams;
	if (timer_start(state) != 0)
		return -1;
	while (waiting > 0) {
		if (connect_wait(state) != 0)
			return -1;
		if (waiter_ready(state->waiter, SLOT_TIMER))
			return failure_set(&state->failure,
					   "%u of %u streams did not connect to port %u", waiting,
					   state->options->streams, state->grant.data_port);
		for (unsigned i = 0; i < state->options->streams; i++) {
			if (!waiter_ready(state->waiter, SLOT_PEERS + i))
				continue;
			if (hello_send(state, i) != 0)
				return -1;
			waiter_forget(state->waiter, SLOT_PEERS + i);
			waiting--;
		}
	}
	return waiter_disarm(state->waiter, &state->failure);
}

int send_connect(struct send_state *state)
{
	cJSON *message;
	state->streams = streams_create(state->options->streams, &state->failure);
	if (state->streams == NULL)
		return -1;
	int status = streams_begin(state) == 0 ? streams_finish(state) : -1;
	for (unsigned i = 0; i < state->options->streams; i++)
		waiter_forget(state->waiter, SLOT_PEERS + i);
	if (status != 0)
		return -1;
	int fd = streams_fd(state->streams, 0);
	if (tune_buffer(fd, TUNE_SEND, &state->sndbuf_bytes, &state->failure) != 0)
		return -1;
	tune_congestion_name(fd, state->congestion);
	if (session_expect(state->waiter, state->control, MESSAGE_READY, PATIENCE_NS, &message,
			   &state->signal, &state->failure) != 0)
		return -1;
	cJSON_Delete(message);
	return 0;
}
