#include "base/clock.h"
#include "control/admission.h"
#include "control/session.h"
#include "receive/receive.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

/* A connection that has not proven which stream it is. */
struct newcomer {
	int fd;
	unsigned number; /* how many came before it */
	unsigned used;
	uint8_t bytes[HELLO_BYTES];
	uint8_t nonce[NONCE_BYTES];
};

struct gathering {
	struct receive_state *state;
	struct address peer; /* of the control connection */
	unsigned missing;
	unsigned count;
	unsigned accepted;
	struct newcomer newcomers[PEERS_LIMIT];
};

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
	state->data_listener = net_bind_data(&address, state->request.mptcp, failure);
	if (state->data_listener < 0)
		return -1;
	if (state->request.window_bytes != 0 && request_client_sends(&state->request) &&
	    tune_window(state->data_listener, TUNE_RECEIVE, state->request.window_bytes, failure) !=
		0)
		return -1;
	if (net_listen(state->data_listener, PEERS_LIMIT, failure) != 0 ||
	    net_local_address(state->data_listener, &address, failure) != 0)
		return -1;
	state->grant.data_port = net_port(&address);
	state->grant.rcvbuf_ceiling_bytes = sysctl_last("/proc/sys/net/ipv4/tcp_rmem");
	return tune_buffer(state->data_listener, TUNE_RECEIVE, &state->grant.rcvbuf_bytes, failure);
}

/* What the key makes of this session; without a key a token that the grant tells. */
void receive_secret_choose(struct receive_state *state)
{
	const uint8_t *secret = control_secret(state->control);
	state->grant.has_token = secret == NULL;
	if (secret == NULL)
		randombytes_buf(state->grant.token, SECRET_BYTES);
	memcpy(state->secret, secret != NULL ? secret : state->grant.token, SECRET_BYTES);
}

int receive_negotiate(struct receive_state *state)
{
	struct failure *failure = &state->failure;
	if (state->request.protect != PROTECT_NONE && control_secret(state->control) == NULL)
		return failure_set(failure, "request: protect needs a key");
	receive_secret_choose(state);
	if (data_listener_open(state) != 0)
		return -1;
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
	randombytes_buf(newcomer->nonce, NONCE_BYTES);
	challenge_encode(newcomer->nonce, bytes);
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
		if (gathering->count == PEERS_LIMIT)
			place_free(gathering);
		newcomer_challenge(gathering, fd);
	}
}

/* True when the hello proves to be of a stream of this session that is still missing. */
static bool newcomer_admit(struct gathering *gathering, const struct newcomer *newcomer)
{
	struct hello hello;
	struct receive_state *state = gathering->state;
	if (!hello_decode(newcomer->bytes, &hello) ||
	    !hello_check(&hello, state->secret, newcomer->nonce) ||
	    hello.stream >= request_connections(&state->request))
		return false;
	unsigned reverse = request_reverse_first(&state->request);
	bool ours = state->streams != NULL && hello.stream < reverse;
	struct streams *set = ours ? state->streams : state->reverse;
	unsigned index = ours ? hello.stream : hello.stream - reverse;
	if (streams_fd(set, index) >= 0)
		return false;
	streams_adopt(set, index, newcomer->fd);
	gathering->missing--;
	return true;
}

static void newcomer_read(struct gathering *gathering, unsigned index)
{
	struct newcomer *newcomer = &gathering->newcomers[index];
	ssize_t got =
	    recv(newcomer->fd, newcomer->bytes + newcomer->used, HELLO_BYTES - newcomer->used, 0);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0)
		newcomer->used += (unsigned)got;
	if (got > 0 && newcomer->used < HELLO_BYTES)
		return;
	/* Strangers are dropped without a word. */
	if (got > 0 && newcomer_admit(gathering, newcomer))
		newcomer_remove(gathering, index);
	else
		newcomer_drop(gathering, index);
}

/* A client that reads may say so before all that it has sent was looked at. */
static int control_look(struct receive_state *state)
{
	cJSON *message;
	enum message_type type;
	switch (control_take(state->control, &message, &type, &state->failure)) {
	case CONTROL_PENDING:
		return 0;
	case CONTROL_MESSAGE:
		break;
	case CONTROL_CLOSED:
	case CONTROL_INVALID:
	default:
		return -1;
	}
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
		waiter_watch(waiter, SLOT_DATA, state->data_listener, POLLIN);
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
	(void)close(state->data_listener);
	state->data_listener = -1;
	return status;
}
