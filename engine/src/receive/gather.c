#include "base/clock.h"
#include "control/admission.h"
#include "control/channel.h"
#include "control/session.h"
#include "protect/ktls.h"
#include "receive/receive.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

/* Connections that have not said hello yet may be a few more than streams. */
#define NEWCOMERS_LIMIT (STREAMS_LIMIT + 16)

_Static_assert(NEWCOMERS_LIMIT <= PEERS_LIMIT, "slots of the waiter");

/* A connection that has not proven which stream it is. */
struct newcomer {
	int fd;
	unsigned number; /* how many came before it */
	unsigned used;
	struct handover first;
};

struct gathering {
	struct receive_state *state;
	struct address peer; /* of the control connection */
	unsigned missing;
	unsigned count;
	unsigned accepted;
	struct newcomer newcomers[NEWCOMERS_LIMIT];
};

/* The receive window of the client's data, where it asked for one. */
static uint64_t window_bytes(const struct receive_state *state)
{
	return request_client_sends(&state->request) ? state->request.window_bytes : 0;
}

/* The server's listener carries the largest window that any session waits for. Read our own grant
 * from a scratch socket instead. */
static int port_share(struct receive_state *state)
{
	struct address address;
	struct failure *failure = &state->failure;
	if (net_local_address(control_fd(state->control), &address, failure) != 0)
		return -1;
	int fd = net_socket(&address, failure);
	if (fd < 0)
		return -1;
	uint64_t window = window_bytes(state);
	int status = window != 0 ? tune_window(fd, TUNE_RECEIVE, window, failure) : 0;
	if (status == 0)
		status = tune_buffer(fd, TUNE_RECEIVE, &state->grant.rcvbuf_bytes, failure);
	(void)close(fd);
	return status;
}

/*
 * A listener of its own for the data connections: the kernel derives the window scale from the
 * listener's buffer when a SYN arrives, so it must be set before anyone can connect.
 */
static int data_listener_open(struct receive_state *state)
{
	struct address address;
	struct failure *failure = &state->failure;
	if (net_local_address(control_fd(state->control), &address, failure) != 0)
		return -1;
	net_set_port(&address, state->options->data_port);
	if (state->request.mptcp)
		net_set_any(&address); /* a further subflow comes to another address of ours */
	state->data_listener = net_bind_data(&address, state->request.mptcp, failure);
	if (state->data_listener < 0)
		return -1;
	if (window_bytes(state) != 0 &&
	    tune_window(state->data_listener, TUNE_RECEIVE, window_bytes(state), failure) != 0)
		return -1;
	if (net_listen(state->data_listener, NEWCOMERS_LIMIT, failure) != 0 ||
	    net_local_address(state->data_listener, &address, failure) != 0)
		return -1;
	state->grant.data_port = net_port(&address);
	return tune_buffer(state->data_listener, TUNE_RECEIVE, &state->grant.rcvbuf_bytes, failure);
}

/* What the key makes of this session; without a key a token that the grant tells. */
void receive_secret_choose(struct receive_state *state)
{
	const uint8_t *secret = control_secret(state->control);
	state->grant.has_token = secret == NULL;
	if (secret == NULL)
		randombytes_buf(state->grant.token, SECRET_BYTES);
	state->secret = secret != NULL ? secret : state->grant.token;
}

int receive_negotiate(struct receive_state *state)
{
	struct failure *failure = &state->failure;
	if (state->request.protect != PROTECT_NONE && control_secret(state->control) == NULL)
		return failure_set(failure, "request: protect needs a key");
	if (state->request.protect == PROTECT_KTLS && ktls_check(failure) != 0)
		return -1;
	receive_secret_choose(state);
	if ((state->channel >= 0 ? port_share(state) : data_listener_open(state)) != 0)
		return -1;
	state->grant.rcvbuf_ceiling_bytes = sysctl_last("/proc/sys/net/ipv4/tcp_rmem");
	state->grant.pacing_bps =
	    admission_pacing_bps(&state->options->admission, state->request.streams);
	return control_send(state->control, grant_encode(&state->grant), failure);
}

/* Slots of the waiter follow the places in the list. */
static void newcomer_remove(struct gathering *gathering, unsigned index)
{
	struct waiter *waiter = gathering->state->waiter;
	unsigned last = --gathering->count;
	gathering->newcomers[index] = gathering->newcomers[last];
	waiter_forget(waiter, SLOT_PEERS + last);
	if (index != last)
		waiter_watch(waiter, SLOT_PEERS + index, gathering->newcomers[index].fd, POLLIN);
}

static void newcomer_drop(struct gathering *gathering, unsigned index)
{
	(void)close(gathering->newcomers[index].fd);
	newcomer_remove(gathering, index);
}

/* Who has been silent for longest goes: the sender answers within a round trip. */
static void place_free(struct gathering *gathering)
{
	unsigned oldest = 0;
	for (unsigned i = 1; i < gathering->count; i++) {
		if (gathering->newcomers[i].number < gathering->newcomers[oldest].number)
			oldest = i;
	}
	newcomer_drop(gathering, oldest);
}

static void newcomer_challenge(struct gathering *gathering, int fd)
{
	uint8_t bytes[CHALLENGE_BYTES];
	unsigned index = gathering->count;
	struct newcomer *newcomer = &gathering->newcomers[index];
	*newcomer = (struct newcomer){.fd = fd, .number = gathering->accepted++};
	challenge_make(newcomer->first.nonce, bytes);
	/* Fits whole into the empty buffer of a new connection. */
	if (send(fd, bytes, CHALLENGE_BYTES, MSG_NOSIGNAL) != CHALLENGE_BYTES) {
		(void)close(fd);
		return;
	}
	waiter_watch(gathering->state->waiter, SLOT_PEERS + index, fd, POLLIN);
	gathering->count++;
}

static void newcomers_accept(struct gathering *gathering)
{
	int fd;
	struct address peer;
	while ((fd = net_accept(gathering->state->data_listener, &peer)) >= 0) {
		if (!net_same_host(&peer, &gathering->peer)) {
			(void)close(fd);
			continue;
		}
		if (gathering->count == NEWCOMERS_LIMIT)
			place_free(gathering);
		newcomer_challenge(gathering, fd);
	}
}

/*
 * The server's port may have been made for another session's windows, too, when this connection
 * came: its scale does for all of them, its size is set here. Without a window of its own the
 * kernel may choose again.
 */
static int window_correct(struct receive_state *state, int fd)
{
	uint64_t bytes = 0;
	struct failure *failure = &state->failure;
	uint64_t window = window_bytes(state);
	if (window == 0)
		return tune_is_locked(fd) ? tune_unlock(fd, state->grant.rcvbuf_bytes, failure) : 0;
	if (tune_buffer(fd, TUNE_RECEIVE, &bytes, failure) != 0)
		return -1;
	if (bytes == state->grant.rcvbuf_bytes)
		return 0;
	/* What it may offer was computed of the size that it had: half, the rest is overhead. */
	return tune_window(fd, TUNE_RECEIVE, window, failure) == 0
		   ? tune_window_clamp(fd, state->grant.rcvbuf_bytes / 2, failure)
		   : -1;
}

/* True when the hello proves to be of a stream of this session that is still missing. */
static bool newcomer_admit(struct gathering *gathering, int fd, const struct handover *first)
{
	struct hello hello;
	struct receive_state *state = gathering->state;
	if (!hello_decode(first->hello, &hello) ||
	    !hello_check(&hello, state->secret, first->nonce) ||
	    hello.stream >= request_connections(&state->request))
		return false;
	unsigned reverse = request_reverse_first(&state->request);
	bool ours = state->streams != NULL && hello.stream < reverse;
	struct streams *set = ours ? state->streams : state->reverse;
	unsigned index = ours ? hello.stream : hello.stream - reverse;
	if (streams_fd(set, index) >= 0 || (state->channel >= 0 && window_correct(state, fd) != 0))
		return false;
	streams_adopt(set, index, fd);
	gathering->missing--;
	return true;
}

static void newcomer_read(struct gathering *gathering, unsigned index)
{
	struct newcomer *newcomer = &gathering->newcomers[index];
	ssize_t got = recv(newcomer->fd, newcomer->first.hello + newcomer->used,
			   HELLO_BYTES - newcomer->used, 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0)
		newcomer->used += (unsigned)got;
	if (got > 0 && newcomer->used < HELLO_BYTES)
		return;
	/* Strangers are dropped without a word. */
	if (got > 0 && newcomer_admit(gathering, newcomer->fd, &newcomer->first))
		newcomer_remove(gathering, index);
	else
		newcomer_drop(gathering, index);
}

/* Those that came to the server's port and said that they are of this session. */
static int newcomers_take(struct gathering *gathering)
{
	int fd;
	struct handover first;
	struct receive_state *state = gathering->state;
	while ((fd = channel_take(state->channel, &first)) >= 0) {
		if (!newcomer_admit(gathering, fd, &first))
			(void)close(fd);
	}
	if (errno != EAGAIN)
		(void)failure_set_errno(&state->failure, errno, "the server's data connections");
	return state->failure.set ? -1 : 0;
}

/* A client that reads may say so before all that it has sent was looked at. */
static int control_look(struct receive_state *state)
{
	cJSON *message;
	enum message_type type;
	int came = session_take(state->control, &message, &type, &state->failure);
	if (came <= 0)
		return came;
	if (type != MESSAGE_READY || state->reverse == NULL || state->peer_reads)
		return session_refuse(message, type, &state->failure);
	cJSON_Delete(message);
	state->peer_reads = true;
	return 0;
}

static int gathering_step(struct gathering *gathering)
{
	struct receive_state *state = gathering->state;
	struct waiter *waiter = state->waiter;
	if (waiter_wait(waiter, &state->failure) != 0)
		return -1;
	if (waiter_ready(waiter, SLOT_SIGNAL)) {
		state->signal = waiter_take_signal(waiter);
		return failure_set(&state->failure, "interrupted by %s",
				   signal_name(state->signal));
	}
	if (waiter_ready(waiter, SLOT_TIMER))
		return failure_set(&state->failure, "%u of %u streams did not come",
				   gathering->missing, request_connections(&state->request));
	if (waiter_ready(waiter, SLOT_CONTROL) && control_look(state) != 0)
		return -1;
	/* From the end, since removing one moves the last into its place. */
	for (unsigned i = gathering->count; i-- > 0;) {
		if (waiter_ready(waiter, SLOT_PEERS + i))
			newcomer_read(gathering, i);
	}
	if (waiter_ready(waiter, SLOT_DATA) && state->channel >= 0)
		return newcomers_take(gathering);
	if (waiter_ready(waiter, SLOT_DATA))
		newcomers_accept(gathering);
	return 0;
}

/* A set of streams that know the numbers of their connections. */
static struct streams *set_create(struct receive_state *state, unsigned first, bool seals)
{
	const struct request *request = &state->request;
	struct streams *set = streams_create(request->streams, &state->failure);
	if (set == NULL)
		return NULL;
	if (request->mptcp)
		streams_join_subflows(set);
	if (streams_protect(set, request->protect, seals, state->secret, first, &state->failure) ==
	    0)
		return set;
	streams_destroy(set);
	return NULL;
}

static int sets_create(struct receive_state *state)
{
	const struct request *request = &state->request;
	state->preamble_bytes = HELLO_BYTES;
	if (request_client_sends(request) && (state->streams = set_create(state, 0, false)) == NULL)
		return -1;
	if (request_server_sends(request) &&
	    (state->reverse = set_create(state, request_reverse_first(request), true)) == NULL)
		return -1;
	return 0;
}

int receive_gather(struct receive_state *state)
{
	struct gathering gathering = {.state = state,
				      .missing = request_connections(&state->request)};
	struct waiter *waiter = state->waiter;
	int status = -1;
	if (sets_create(state) == 0 &&
	    net_peer_address(control_fd(state->control), &gathering.peer, &state->failure) == 0 &&
	    waiter_arm(waiter, clock_monotonic_ns() + state->options->idle_timeout_ns,
		       &state->failure) == 0) {
		waiter_watch(waiter, SLOT_CONTROL, control_fd(state->control), POLLIN);
		waiter_watch(waiter, SLOT_DATA,
			     state->channel >= 0 ? state->channel : state->data_listener, POLLIN);
		do {
			status = gathering_step(&gathering);
		} while (status == 0 && gathering.missing > 0);
	}
	for (unsigned i = 0; i < gathering.count; i++) {
		(void)close(gathering.newcomers[i].fd);
		waiter_forget(waiter, SLOT_PEERS + i);
	}
	waiter_forget(waiter, SLOT_CONTROL);
	waiter_forget(waiter, SLOT_DATA);
	(void)waiter_disarm(waiter, &state->failure);
	if (state->request.probe.fresh)
		return status; /* more are to come */
	if (state->channel >= 0)
		channel_say(state->channel, CHANNEL_GATHERED);
	if (state->request.mptcp)
		return status; /* further subflows join a connection at the port, at any time */
	if (state->data_listener >= 0)
		(void)close(state->data_listener);
	state->data_listener = -1;
	return status;
}
