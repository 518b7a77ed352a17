/* The data connections of the client, those on which the server sends among them. */
#include "base/clock.h"
#include "control/hello.h"
#include "net/flow.h"
#include "net/net.h"
#include "net/window.h"
#include "send/send.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/* Buffers and congestion control must be set before the SYN leaves, where it is we who connect. */
int send_tune(struct send_state *state, unsigned index, int fd)
{
	const struct options *options = state->options;
	if (options->asked.window_bytes != 0 &&
	    tune_window(fd, TUNE_SEND, window_sndbuf_ask(options->asked.window_bytes),
			&state->failure) != 0)
		return -1;
	char congestion[CONGESTION_NAME_BYTES];
	if (congestion_of_stream(options->congestion, index, congestion) &&
	    tune_congestion(fd, congestion, &state->failure) != 0)
		return -1;
	if (options->asked.settings.dscp != DSCP_NONE &&
	    tune_dscp(fd, options->asked.settings.dscp, &state->failure) != 0)
		return -1;
	uint64_t notsent_bytes = send_notsent_bytes(state);
	if (notsent_bytes != 0 && tune_notsent(fd, notsent_bytes, &state->failure) != 0)
		return -1;
	uint64_t pacing_bps = send_pacing_bps(state);
	if (pacing_bps != 0 && tune_pacing(fd, pacing_bps, &state->failure) != 0)
		return -1;
	return 0;
}

/*
 * The receiver takes data from the control connection's address only. Without --bind the system
 * would choose one anew: of IPv6 perhaps the next temporary address (RFC 8981).
 */
static int source_bind(struct send_state *state, int fd, const struct address *peer,
		       const struct address *local)
{
	const char *source = state->options->bind;
	return source != NULL ? net_bind_source(fd, source, peer, &state->failure)
			      : net_bind_local(fd, local, &state->failure);
}

/* The set that a connection is of, and its place there: those that we send on come first. */
static struct streams *connection_set(const struct send_state *state, unsigned number,
				      unsigned *index)
{
	unsigned reverse = request_reverse_first(&state->request);
	bool ours = request_client_sends(&state->request) && number < reverse;
	*index = ours ? number : number - reverse;
	return ours ? state->streams : state->reverse;
}

static int connection_fd(const struct send_state *state, unsigned number)
{
	unsigned index;
	const struct streams *set = connection_set(state, number, &index);
	return streams_fd(set, index);
}

/* What holds for a connection whoever sends on it; the peer learns of --mss by the SYN. */
static int connection_tune(struct send_state *state, int fd, const struct address *peer)
{
	const struct options *options = state->options;
	if ((options->mss != 0 && tune_mss(fd, options->mss, &state->failure) != 0) ||
	    (options->device != NULL && tune_device(fd, options->device, &state->failure) != 0))
		return -1;
	return options->flow_label != 0
		   ? flow_label_claim(fd, peer, options->flow_label, &state->failure)
		   : 0;
}

static int connection_begin(struct send_state *state, unsigned number, struct address *address,
			    const struct address *local)
{
	unsigned index;
	struct streams *set = connection_set(state, number, &index);
	const struct options *options = state->options;
	int fd = net_socket_data(address, options->asked.mptcp, &state->failure);
	if (fd < 0)
		return -1;
	streams_adopt(set, index, fd);
	if (connection_tune(state, fd, address) != 0)
		return -1;
	if (set == state->streams && send_tune(state, index, fd) != 0)
		return -1;
	if (set == state->reverse && options->asked.window_bytes != 0 &&
	    tune_window(fd, TUNE_RECEIVE, options->asked.window_bytes, &state->failure) != 0)
		return -1;
	if (source_bind(state, fd, address, local) != 0)
		return -1;
	if (options->flow_label != 0)
		flow_label_address(address, options->flow_label);
	return net_connect(fd, address, &state->failure);
}

static int connections_begin(struct send_state *state)
{
	struct address address;
	struct address local;
	if (net_peer_address(control_fd(state->control), &address, &state->failure) != 0 ||
	    net_local_address(control_fd(state->control), &local, &state->failure) != 0)
		return -1;
	net_set_port(&address, state->grant.data_port);
	state->connect_ns = clock_monotonic_ns();
	for (unsigned i = 0; i < request_connections(&state->request); i++) {
		if (connection_begin(state, i, &address, &local) != 0)
			return -1;
		waiter_watch(state->waiter, SLOT_PEERS + i, connection_fd(state, i), POLLOUT);
	}
	return 0;
}

/* A data connection before its stream begins. */
struct opening {
	bool connected;
	unsigned used; /* bytes of the challenge that have come */
	uint8_t challenge[CHALLENGE_BYTES];
};

static int opening_refuse(struct send_state *state, unsigned index, int error)
{
	return failure_set_errno(&state->failure, error, "cannot connect stream %u to port %u",
				 index, state->grant.data_port);
}

static int hello_send(struct send_state *state, unsigned index, const struct opening *opening)
{
	uint8_t bytes[HELLO_BYTES];
	uint8_t nonce[NONCE_BYTES];
	struct hello hello = {.stream = index, .session = state->grant.session};
	if (!challenge_decode(opening->challenge, nonce))
		return failure_set(&state->failure,
				   "stream %u: port %u does not answer as a receiver does", index,
				   state->grant.data_port);
	hello_prove(&hello, state->secret, nonce);
	hello_encode(&hello, bytes);
	/* Fits whole into the empty buffer of a new connection. */
	ssize_t sent = send(connection_fd(state, index), bytes, HELLO_BYTES, MSG_NOSIGNAL);
	if (sent != HELLO_BYTES)
		return opening_refuse(state, index, sent < 0 ? errno : EIO);
	return 0;
}

/* 1 when the stream has said its hello, 0 when there is more to wait for. */
static int opening_step(struct send_state *state, unsigned index, struct opening *opening)
{
	int fd = connection_fd(state, index);
	if (!opening->connected) {
		int error = net_connect_status(fd);
		if (error != 0)
			return opening_refuse(state, index, error);
		opening->connected = true;
		waiter_watch(state->waiter, SLOT_PEERS + index, fd, POLLIN);
		return 0;
	}
	ssize_t got =
	    recv(fd, opening->challenge + opening->used, CHALLENGE_BYTES - opening->used, 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0)
		return opening_refuse(state, index, got == 0 ? ECONNRESET : errno);
	opening->used += (unsigned)got;
	if (opening->used < CHALLENGE_BYTES)
		return 0;
	return hello_send(state, index, opening) == 0 ? 1 : -1;
}

/* What is ready of the connections. -1 with the failure set; else how many became streams. */
static int openings_step(struct send_state *state, struct opening *openings)
{
	int done = 0;
	for (unsigned i = 0; i < request_connections(&state->request); i++) {
		if (!waiter_ready(state->waiter, SLOT_PEERS + i))
			continue;
		int said = opening_step(state, i, &openings[i]);
		if (said < 0)
			return -1;
		if (said == 0)
			continue;
		waiter_forget(state->waiter, SLOT_PEERS + i);
		done++;
	}
	return done;
}

static int connections_finish(struct send_state *state)
{
	unsigned waiting = request_connections(&state->request);
	struct opening openings[STREAMS_LIMIT] = {0};
	if (send_wait_start(state) != 0)
		return -1;
	while (waiting > 0) {
		if (send_wait(state) != 0)
			return -1;
		if (waiter_ready(state->waiter, SLOT_TIMER))
			return failure_set(
			    &state->failure, "%u of %u streams did not connect to port %u", waiting,
			    request_connections(&state->request), state->grant.data_port);
		int done = openings_step(state, openings);
		if (done < 0)
			return -1;
		waiting -= (unsigned)done;
	}
	return waiter_disarm(state->waiter, &state->failure);
}

/* A set of streams that know the numbers of their connections. */
static struct streams *set_create(struct send_state *state, unsigned first, bool seals)
{
	struct streams *set = streams_create(state->options->asked.streams, &state->failure);
	if (set == NULL)
		return NULL;
	if (state->options->asked.mptcp)
		streams_join_subflows(set);
	if (streams_protect(set, state->options->asked.protect, seals, state->secret, first,
			    &state->failure) == 0)
		return set;
	streams_destroy(set);
	return NULL;
}

int send_connect(struct send_state *state)
{
	const struct request *request = &state->request;
	unsigned count = request_connections(request);
	if (request_client_sends(request) && (state->streams = set_create(state, 0, true)) == NULL)
		return -1;
	if (request_server_sends(request) &&
	    (state->reverse = set_create(state, request_reverse_first(request), false)) == NULL)
		return -1;
	state->preamble_bytes = HELLO_BYTES;
	int status = connections_begin(state) == 0 ? connections_finish(state) : -1;
	for (unsigned i = 0; i < count; i++)
		waiter_forget(state->waiter, SLOT_PEERS + i);
	return status;
}
