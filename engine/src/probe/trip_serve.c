#include "base/clock.h"
#include "base/number.h"
#include "base/wire.h"
#include "control/session.h"
#include "probe/serve.h"
#include "probe/trips.h"
#include "transfer/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* A new connection has this long for its hello and its request, which come together. */
#define FRESH_PATIENCE_S 5

struct answering {
	struct receive_state *state;
	struct address peer;      /* of the control connection */
	_Atomic uint64_t *newest; /* of each stream: the number of its last new connection */
	_Atomic uint64_t answered;
	uint64_t end_ns; /* the client has this long, and its patience */
};

static int answer(struct stream *stream, struct answering *answering, int fd)
{
	const struct probe *probe = &answering->state->request.probe;
	int error = trip_receive(fd, probe->request_bytes);
	if (error == 0)
		error = trip_send(fd, probe->response_bytes);
	if (error == 0) {
		(void)atomic_fetch_add(&stream->bytes,
				       (uint64_t)probe->request_bytes + probe->response_bytes);
		(void)atomic_fetch_add(&answering->answered, 1);
	}
	return error;
}

static int kept_serve(struct stream *stream, void *context)
{
	int error = 0;
	while (error == 0 && !stream_stopping(stream))
		error = answer(stream, context, stream->fd);
	/* The client ends by closing. */
	return error == ECONNRESET || stream_stopping(stream) ? 0 : error;
}

/* Is it of this session, and new? */
static bool fresh_admit(struct answering *answering, int fd)
{
	struct hello hello;
	uint8_t bytes[TRIP_HELLO_BYTES];
	uint8_t nonce[NONCE_BYTES];
	uint64_t number;
	const struct receive_state *state = answering->state;
	if (recv(fd, bytes, sizeof(bytes), MSG_WAITALL) != (ssize_t)sizeof(bytes) ||
	    !hello_decode(bytes, &hello) || hello.stream >= state->request.streams)
		return false;
	(void)wire_get_u64(bytes + HELLO_BYTES, &number);
	trip_nonce(number, nonce);
	if (!hello_check(&hello, state->secret, nonce))
		return false;
	uint64_t newest = atomic_load(&answering->newest[hello.stream]);
	return number > newest &&
	       atomic_compare_exchange_strong(&answering->newest[hello.stream], &newest, number);
}

static void fresh_answer(struct stream *stream, struct answering *answering, int fd,
			 const struct address *from)
{
	struct failure ignored = {0};
	const struct timeval patience = {.tv_sec = FRESH_PATIENCE_S};
	if (net_same_host(from, &answering->peer) &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
	    net_set_blocking(fd, true, &ignored) == 0 && net_no_delay(fd, &ignored) == 0 &&
	    fresh_admit(answering, fd) && answer(stream, answering, fd) == 0)
		(void)shutdown(fd, SHUT_WR);
	(void)close(fd);
}

static int fresh_serve(struct stream *stream, void *context)
{
	struct address from;
	struct answering *answering = context;
	while (!stream_stopping(stream)) {
		int fd = net_accept(answering->state->data_listener, &from);
		if (fd >= 0)
			fresh_answer(stream, answering, fd, &from);
		else if (!stream_stopping(stream) && errno != EAGAIN)
			return errno;
	}
	return 0;
}

/* Each on_* returns true when answering is over, for good or not. */

static bool on_control(void *context)
{
	struct answering *answering = context;
	cJSON *message;
	enum message_type type;
	struct receive_state *state = answering->state;
	enum control_status status = control_take(state->control, &message, &type, &state->failure);
	if (status == CONTROL_PENDING)
		return false;
	if (status == CONTROL_MESSAGE && type == MESSAGE_STOP)
		cJSON_Delete(message);
	else if (status == CONTROL_MESSAGE)
		(void)session_refuse(message, type, &state->failure);
	return true;
}

static bool on_signal(void *context)
{
	struct answering *answering = context;
	struct receive_state *state = answering->state;
	state->signal = waiter_take_signal(state->waiter);
	(void)failure_set(&state->failure, "the server was interrupted by %s",
			  signal_name(state->signal));
	return true;
}

static bool on_streams(void *context)
{
	unsigned index;
	int error;
	struct answering *answering = context;
	struct receive_state *state = answering->state;
	streams_acknowledge(state->streams);
	if (streams_first_error(state->streams, &index, &error))
		receive_lost(state, index, error);
	return state->failure.set;
}

static int timer_choose(struct answering *answering)
{
	struct receive_state *state = answering->state;
	return waiter_arm(
	    state->waiter,
	    number_least(stall_look_ns(&state->stall, clock_monotonic_ns()), answering->end_ns),
	    &state->failure);
}

static bool on_timer(void *context)
{
	struct answering *answering = context;
	struct receive_state *state = answering->state;
	uint64_t now_ns = clock_monotonic_ns();
	if (now_ns >= answering->end_ns)
		(void)failure_set(&state->failure, "the client does not end in its time");
	else if (stall_look(&state->stall, streams_moved(state->streams), now_ns))
		(void)failure_set(&state->failure, "no request came for %.3g s",
				  (double)state->options->stall_ns / 1e9);
	return state->failure.set || timer_choose(answering) != 0;
}

static void events_follow(struct answering *answering)
{
	struct receive_state *state = answering->state;
	const struct waiter_turn turns[] = {
	    {SLOT_SIGNAL, -1, on_signal},
	    {SLOT_TIMER, -1, on_timer},
	    {SLOT_CONTROL, control_fd(state->control), on_control},
	    {SLOT_STREAMS, streams_event_fd(state->streams), on_streams},
	};
	uint64_t now_ns = clock_monotonic_ns();
	stall_start(&state->stall, state->options->stall_ns, streams_moved(state->streams), now_ns);
	answering->end_ns = now_ns + state->request.duration_ns + PATIENCE_NS;
	state->start_unix_ns = clock_unix_ns();
	if (timer_choose(answering) == 0)
		(void)waiter_follow(state->waiter, turns, sizeof(turns) / sizeof(turns[0]),
				    answering, &state->failure);
	(void)waiter_disarm(state->waiter, &state->failure);
}

static int answering_start(struct answering *answering)
{
	struct receive_state *state = answering->state;
	bool fresh = state->request.probe.fresh;
	answering->newest = calloc(state->request.streams, sizeof(answering->newest[0]));
	if (answering->newest == NULL)
		return failure_set(&state->failure, "out of memory");
	for (unsigned i = 0; i < state->request.streams; i++) {
		if (net_no_delay(streams_fd(state->streams, i), &state->failure) != 0)
			return -1;
	}
	if (net_peer_address(control_fd(state->control), &answering->peer, &state->failure) != 0 ||
	    (fresh && net_set_blocking(state->data_listener, true, &state->failure) != 0))
		return -1;
	if (streams_work(state->streams, false, fresh ? fresh_serve : kept_serve, answering,
			 &state->failure) != 0)
		return -1;
	return control_send(state->control, message_create(MESSAGE_READY), &state->failure);
}

int trip_serve(struct receive_state *state)
{
	struct failure ignored = {0};
	struct answering answering = {.state = state};
	if (receive_negotiate(state) != 0 || receive_gather(state) != 0)
		return -1;
	if (answering_start(&answering) == 0)
		events_follow(&answering);
	streams_stop(state->streams);
	/* Wakes those that wait for a new connection. */
	if (state->data_listener >= 0)
		(void)shutdown(state->data_listener, SHUT_RD);
	streams_join(state->streams);
	state->report.bytes = atomic_load(&answering.answered);
	state->report.complete = !state->failure.set;
	free(answering.newest);
	if (state->failure.set)
		return -1;
	cJSON *message = message_create(MESSAGE_RESULT);
	json_add_u64(message, "answered", state->report.bytes);
	if (control_send(state->control, message, &ignored) == 0)
		receive_farewell(state);
	return 0;
}
