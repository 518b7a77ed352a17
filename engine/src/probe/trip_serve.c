#include "base/clock.h"
#include "base/number.h"
#include "base/wire.h"
#include "control/admission.h"
#include "control/channel.h"
#include "control/session.h"
#include "net/tune.h"
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
	uint64_t *turn_ns; /* of each stream: when its next answer may leave */
	int *fresh;        /* of each stream: the number that its new connections have in turn */
	unsigned places;   /* of them; 0: the connections stay */
	uint64_t end_ns;   /* the client has this long, and its patience */
};

/*
 * The kernel paces one answer; many small ones, and those of new connections, are paced here. One
 * that came late, as timers do, is made up for; a client that has not asked saves nothing.
 */
static bool turn_await(const struct stream *stream, const struct answering *answering)
{
	const struct receive_state *state = answering->state;
	uint64_t rate_bps = state->grant.pacing_bps;
	uint64_t *turn_ns = &answering->turn_ns[stream->index];
	if (rate_bps == 0)
		return true;
	if (*turn_ns > clock_monotonic_ns() && !gate_sleep_until(stream->set->gate, *turn_ns))
		return false;
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t step_ns = UINT64_C(8) * state->request.probe.response_bytes * NS_PER_S / rate_bps;
	*turn_ns = (*turn_ns + step_ns > now_ns ? *turn_ns : now_ns) + step_ns;
	return true;
}

static int pace(const struct answering *answering, int fd, struct failure *failure)
{
	uint64_t rate_bps = answering->state->grant.pacing_bps;
	return rate_bps != 0 ? tune_pacing(fd, rate_bps, failure) : 0;
}

static int answer(struct stream *stream, struct answering *answering, int fd)
{
	const struct probe *probe = &answering->state->request.probe;
	int error = trip_receive(fd, probe->request_bytes);
	if (error == 0 && !turn_await(stream, answering))
		error = ECANCELED;
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
	/* The client ends by closing; EPIPE where its end came before the reset by what it left
	 * unread. */
	return error == ECONNRESET || error == EPIPE || stream_stopping(stream) ? 0 : error;
}

/* Is it of this session, and new? */
static bool fresh_admit(struct answering *answering, int fd, const struct handover *first)
{
	struct hello hello;
	uint8_t bytes[TRIP_HELLO_BYTES - HELLO_BYTES];
	uint8_t nonce[NONCE_BYTES];
	uint64_t number;
	const struct receive_state *state = answering->state;
	if (!hello_decode(first->hello, &hello) || hello.stream >= state->request.streams ||
	    recv(fd, bytes, sizeof(bytes), MSG_WAITALL) != (ssize_t)sizeof(bytes))
		return false;
	(void)wire_get_u64(bytes, &number);
	trip_nonce(number, nonce);
	if (!hello_check(&hello, state->secret, nonce))
		return false;
	uint64_t newest = atomic_load(&answering->newest[hello.stream]);
	return number > newest &&
	       atomic_compare_exchange_strong(&answering->newest[hello.stream], &newest, number);
}

/* As the server's loop does on its own port. */
static bool fresh_hello(int fd, struct handover *first)
{
	uint8_t challenge[CHALLENGE_BYTES];
	challenge_make(first->nonce, challenge);
	return send(fd, challenge, sizeof(challenge), MSG_NOSIGNAL) == (ssize_t)sizeof(challenge) &&
	       recv(fd, first->hello, HELLO_BYTES, MSG_WAITALL) == HELLO_BYTES;
}

/*
 * `first` has the hello of one that came to the server's port. It takes the place of the one before
 * it, where whoever stops us finds it: then nobody waits for a client that does not read.
 */
static void fresh_answer(struct stream *stream, struct answering *answering, int came,
			 struct handover *first)
{
	struct failure ignored = {0};
	int fd = answering->fresh[stream->index];
	bool shared = answering->state->channel >= 0;
	const struct timeval patience = {.tv_sec = FRESH_PATIENCE_S};
	if (dup2(came, fd) == fd && !stream_stopping(stream) &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0 &&
	    net_set_blocking(fd, true, &ignored) == 0 && net_no_delay(fd, &ignored) == 0 &&
	    pace(answering, fd, &ignored) == 0 && (shared || fresh_hello(fd, first)) &&
	    fresh_admit(answering, fd, first) && answer(stream, answering, fd) == 0)
		(void)shutdown(fd, SHUT_WR);
	(void)close(came);
	(void)dup2(stream->fd, fd);
}

/* The next one, of the client's host; -1 with errno. */
static int fresh_take(const struct answering *answering, struct handover *first)
{
	struct address from;
	if (answering->state->channel >= 0)
		return channel_take(answering->state->channel, first);
	int fd = net_accept(answering->state->data_listener, &from);
	if (fd < 0 || net_same_host(&from, &answering->peer))
		return fd;
	(void)close(fd);
	errno = EAGAIN;
	return -1;
}

static int fresh_serve(struct stream *stream, void *context)
{
	struct handover first;
	struct answering *answering = context;
	while (!stream_stopping(stream)) {
		int fd = fresh_take(answering, &first);
		if (fd >= 0)
			fresh_answer(stream, answering, fd, &first);
		else if (!stream_stopping(stream) && errno != EAGAIN)
			return errno;
	}
	return 0;
}

_Static_assert(offsetof(struct answering, state) == 0, "serve.h finds it there");

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
	    {SLOT_SIGNAL, -1, serve_on_signal},
	    {SLOT_TIMER, -1, on_timer},
	    {SLOT_CONTROL, control_fd(state->control), on_control},
	    {SLOT_STREAMS, streams_event_fd(state->streams), on_streams},
	};
	uint64_t now_ns = clock_monotonic_ns();
	stall_start(&state->stall, state->options->stall_ns, streams_moved(state->streams), now_ns);
	answering->end_ns = number_least(now_ns + state->request.duration_ns + PATIENCE_NS,
					 admission_end_ns(&state->options->admission, now_ns));
	state->start_unix_ns = clock_unix_ns();
	if (timer_choose(answering) == 0)
		(void)waiter_follow(state->waiter, turns, sizeof(turns) / sizeof(turns[0]),
				    answering, &state->failure);
	(void)waiter_disarm(state->waiter, &state->failure);
}

/* Where new connections come from. */
static int fresh_source(const struct receive_state *state)
{
	return state->channel >= 0 ? state->channel : state->data_listener;
}

static int answering_start(struct answering *answering)
{
	struct receive_state *state = answering->state;
	bool fresh = state->request.probe.fresh;
	answering->newest = calloc(state->request.streams, sizeof(answering->newest[0]));
	answering->turn_ns = calloc(state->request.streams, sizeof(answering->turn_ns[0]));
	answering->fresh = calloc(state->request.streams, sizeof(answering->fresh[0]));
	if (answering->newest == NULL || answering->turn_ns == NULL || answering->fresh == NULL)
		return failure_set(&state->failure, "out of memory");
	for (unsigned i = 0; i < state->request.streams; i++) {
		int fd = streams_fd(state->streams, i);
		answering->fresh[i] = fresh ? dup(fd) : -1;
		if (fresh && answering->fresh[i] < 0)
			return failure_set_errno(&state->failure, errno,
						 "a new connection's place");
		answering->places += fresh ? 1 : 0;
		if (net_no_delay(fd, &state->failure) != 0 ||
		    pace(answering, fd, &state->failure) != 0)
			return -1;
	}
	if (net_peer_address(control_fd(state->control), &answering->peer, &state->failure) != 0 ||
	    (fresh && net_set_blocking(fresh_source(state), true, &state->failure) != 0))
		return -1;
	if (streams_work(state->streams, false, fresh ? fresh_serve : kept_serve, answering,
			 &state->failure) != 0)
		return -1;
	return control_send(state->control, message_create(MESSAGE_READY), &state->failure);
}

/* Whatever the client does: it may ask for much, and take nothing of it. */
static void answering_stop(struct answering *answering)
{
	struct receive_state *state = answering->state;
	streams_break(state->streams);
	for (unsigned i = 0; i < answering->places; i++)
		(void)shutdown(answering->fresh[i], SHUT_RDWR);
	/* Wakes those that wait for a new connection. */
	if (state->request.probe.fresh)
		(void)shutdown(fresh_source(state), SHUT_RD);
	streams_join(state->streams);
	for (unsigned i = 0; i < answering->places; i++)
		(void)close(answering->fresh[i]);
}

int trip_serve(struct receive_state *state)
{
	struct answering answering = {.state = state};
	if (receive_negotiate(state) != 0 || receive_gather(state) != 0)
		return -1;
	if (answering_start(&answering) == 0)
		events_follow(&answering);
	answering_stop(&answering);
	state->report.bytes = atomic_load(&answering.answered);
	state->report.complete = !state->failure.set;
	free(answering.newest);
	free(answering.turn_ns);
	free(answering.fresh);
	if (state->failure.set)
		return -1;
	state->answer = message_create(MESSAGE_RESULT);
	json_add_u64(state->answer, "answered", state->report.bytes);
	return 0;
}
