#include "admission.h"
#include "clock.h"
#include "receive.h"
#include "session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* A connection that has not said which stream it is. */
struct newcomer {
	int fd;
	unsigned used;
	uint8_t bytes[HELLO_BYTES];
};

struct gathering {
	struct receive_state *state;
	unsigned missing;
	unsigned count;
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
	if (state->request.window_bytes != 0 &&
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

int receive_negotiate(struct receive_state *state)
{
	struct failure *failure = &state->failure;
	if (getrandom(state->grant.token, TOKEN_BYTES, 0) != TOKEN_BYTES)
		return failure_set_errno(failure, errno, "getrandom");
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

static void newcomers_accept(struct gathering *gathering)
{
	int fd;
	struct address peer;
	struct receive_state *state = gathering->state;
	while ((fd = net_accept(state->data_listener, &peer)) >= 0) {
		if (gathering->count == PEERS_LIMIT) {
			(void)close(fd);
			continue;
		}
		gathering->newcomers[gathering->count] = (struct newcomer){.fd = fd};
		waiter_watch(state->waiter, SLOT_PEERS + gathering->count, fd, POLLIN);
		gathering->count++;
	}
}

/* True when the hello names a stream of this session that is still missing. */
static bool newcomer_admit(struct gathering *gathering, const struct newcomer *newcomer)
{
	struct hello hello;
	struct receive_state *state = gathering->state;
	if (!hello_decode(newcomer->bytes, &hello) ||
	    !token_equal(hello.token, state->grant.token) ||
	    hello.stream >= state->request.streams || streams_fd(state->streams, hello.stream) >= 0)
		return false;
	streams_adopt(state->streams, hello.stream, newcomer->fd);
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
	if (got <= 0 || !newcomer_admit(gathering, newcomer))
		(void)close(newcomer->fd);
	newcomer_remove(gathering, index);
}

static int gathering_step(struct gathering *gathering)
{
	struct receive_state *state = gathering->state;
	struct waiter *waiter = state->waiter;
	cJSON *message;
	enum message_type type;
	if (waiter_wait(waiter, &state->failure) != 0)
		return -1;
	if (waiter_ready(waiter, SLOT_SIGNAL)) {
		state->signal = waiter_take_signal(waiter);
		return failure_set(&state->failure, "interrupted by %s",
				   signal_name(state->signal));
	}
	if (waiter_ready(waiter, SLOT_TIMER))
		return failure_set(&state->failure, "%u of %u streams did not come",
				   gathering->missing, state->request.streams);
	if (waiter_ready(waiter, SLOT_CONTROL)) {
		enum control_status status =
		    control_take(state->control, &message, &type, &state->failure);
		if (status == CONTROL_MESSAGE)
			return session_refuse(message, type, &state->failure);
		if (status != CONTROL_PENDING)
			return -1;
	}
	/* From the end, since removing one moves the last into its place. */
	for (unsigned i = gathering->count; i-- > 0;) {
		if (waiter_ready(waiter, SLOT_PEERS + i))
			newcomer_read(gathering, i);
	}
	if (waiter_ready(waiter, SLOT_DATA))
		newcomers_accept(gathering);
	return 0;
}

int receive_gather(struct receive_state *state)
{
	struct gathering gathering = {.state = state, .missing = state->request.streams};
	struct waiter *waiter = state->waiter;
	int status = -1;
	state->streams = streams_create(state->request.streams, &state->failure);
	if (state->streams != NULL &&
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
	(void)close(state->data_listener);
	state->data_listener = -1;
	return status;
}
