#include "session/loop.h"

#include "base/clock.h"
#include "base/number.h"
#include "control/session.h"

#include <poll.h>

static int timer_set(struct session *session, struct failure *failure)
{
	uint64_t send_ns =
	    session->send != NULL && !session->send_over ? session->send->wake_ns : UINT64_MAX;
	uint64_t receive_ns = session->receive != NULL && !session->receive_over
				  ? session->receive->wake_ns
				  : UINT64_MAX;
	uint64_t at_ns = number_least(send_ns, receive_ns);
	return at_ns == UINT64_MAX ? waiter_disarm(session->waiter, failure)
				   : waiter_arm(session->waiter, at_ns, failure);
}

static struct failure *some_failure(struct session *session)
{
	return session->send != NULL ? &session->send->failure : &session->receive->failure;
}

/* The peer goes on sending until it has heard; beside a direction that goes on it hears now. */
static void receive_finish(struct session *session)
{
	struct receive_state *receive = session->receive;
	session->receive_over = true;
	receive_end(receive);
	if (session->send == NULL)
		return;
	if (control_send(session->control, receiver_report_encode(&receive->report),
			 &receive->failure) != 0)
		receive->reported = false;
}

static void send_finish(struct session *session)
{
	session->send_over = true;
	send_end(session->send);
}

static bool is_sending(const struct session *session)
{
	return session->send != NULL && !session->send_over;
}

static bool is_receiving(const struct session *session)
{
	return session->receive != NULL && !session->receive_over;
}

/* Why a direction that is over ended badly; NULL when none did. */
static const char *fault(const struct session *session)
{
	if (session->send != NULL && session->send_over && session->send->failure.set)
		return session->send->failure.text;
	if (session->receive != NULL && session->receive_over && session->receive->failure.set)
		return session->receive->failure.text;
	return NULL;
}

/* Takes what an event said of each direction. True when that was all. */
static bool events_take(struct session *session, bool sent, bool received)
{
	if (received && is_receiving(session))
		receive_finish(session);
	if (sent && is_sending(session))
		send_finish(session);
	/* What ended badly leaves the other direction without a peer that could report on it. */
	const char *why = fault(session);
	if (why != NULL && is_sending(session)) {
		(void)failure_set(&session->send->failure, "%s", why);
		send_finish(session);
	}
	if (why != NULL && is_receiving(session)) {
		(void)failure_set(&session->receive->failure, "%s", why);
		receive_finish(session);
	}
	if (why != NULL || (!is_sending(session) && !is_receiving(session)))
		return true;
	return timer_set(session, some_failure(session)) != 0;
}

/* Each on_* returns true when all is over, for good or not. */

static bool peer_gone(struct session *session, const struct failure *failure)
{
	if (session->send != NULL)
		(void)failure_set(&session->send->failure, "%s", failure->text);
	if (session->receive != NULL)
		(void)failure_set(&session->receive->failure, "%s", failure->text);
	return events_take(session, true, true);
}

static bool message_take(struct session *session, cJSON *message, enum message_type type)
{
	struct failure failure = {0};
	bool of_sending = type == MESSAGE_READY || type == MESSAGE_RESULT;
	bool of_receiving = type == MESSAGE_GO || type == MESSAGE_STOP;
	if (is_sending(session) && !of_receiving)
		return events_take(session, send_on_message(session->send, message, type), false);
	if (is_receiving(session) && !of_sending)
		return events_take(session, false,
				   receive_on_message(session->receive, message, type));
	(void)session_refuse(message, type, &failure);
	return peer_gone(session, &failure);
}

static bool on_control(void *context)
{
	struct session *session = context;
	struct failure failure = {0};
	/* Those that came together are in the decoder: the socket says nothing of them. */
	for (;;) {
		cJSON *message;
		enum message_type type;
		int came = session_take(session->control, &message, &type, &failure);
		if (came < 0)
			return peer_gone(session, &failure);
		if (came == 0)
			return false;
		if (message_take(session, message, type))
			return true;
	}
}

static bool on_signal(void *context)
{
	struct session *session = context;
	int signal = waiter_take_signal(session->waiter);
	bool sent = is_sending(session) && send_on_signal(session->send, signal);
	bool received = is_receiving(session) && receive_on_signal(session->receive, signal);
	/* What was read is told; what was sent the peer tells us meanwhile. */
	if (received && is_sending(session) && !sent) {
		receive_finish(session);
		return timer_set(session, some_failure(session)) != 0;
	}
	return events_take(session, sent, received);
}

static bool on_send_streams(void *context)
{
	struct session *session = context;
	if (!session->send_over)
		return events_take(session, send_on_streams(session->send), false);
	streams_acknowledge(session->send->streams);
	return false;
}

static bool on_receive_streams(void *context)
{
	struct session *session = context;
	if (!session->receive_over)
		return events_take(session, false, receive_on_streams(session->receive));
	streams_acknowledge(session->receive->streams);
	return false;
}

static bool on_timer(void *context)
{
	struct session *session = context;
	uint64_t now_ns = clock_monotonic_ns();
	bool sent = is_sending(session) && session->send->wake_ns <= now_ns &&
		    send_on_timer(session->send, now_ns);
	bool received = is_receiving(session) && session->receive->wake_ns <= now_ns &&
			receive_on_timer(session->receive, now_ns);
	return events_take(session, sent, received);
}

/* A result goes before what its arrival may have caused in the streams that are sent on. */
static unsigned turns_make(struct session *session, struct waiter_turn *turns)
{
	unsigned count = 0;
	const struct waiter_turn control = {SLOT_CONTROL, control_fd(session->control), on_control};
	if (session->send != NULL)
		turns[count++] = control;
	else
		turns[count++] = (struct waiter_turn){SLOT_TIMER, -1, on_timer};
	turns[count++] = (struct waiter_turn){SLOT_SIGNAL, -1, on_signal};
	if (session->receive != NULL)
		turns[count++] = (struct waiter_turn){
		    SLOT_DATA, streams_event_fd(session->receive->streams), on_receive_streams};
	if (session->send != NULL)
		turns[count++] = (struct waiter_turn){
		    SLOT_STREAMS, streams_event_fd(session->send->streams), on_send_streams};
	turns[count++] =
	    session->send != NULL ? (struct waiter_turn){SLOT_TIMER, -1, on_timer} : control;
	return count;
}

static bool begin(struct session *session)
{
	if (session->send != NULL && send_begin(session->send) != 0)
		return false;
	if (session->receive != NULL && receive_begin(session->receive) != 0)
		return false;
	if (session->peer_reads &&
	    send_on_message(session->send, message_create(MESSAGE_READY), MESSAGE_READY))
		return false;
	return timer_set(session, some_failure(session)) == 0;
}

int session_follow(struct session *session)
{
	struct waiter_turn turns[5];
	unsigned count = turns_make(session, turns);
	if (!begin(session)) {
		if (session->send != NULL)
			send_end(session->send);
		return -1;
	}
	if (!on_control(session))
		(void)waiter_follow(session->waiter, turns, count, session, some_failure(session));
	(void)waiter_disarm(session->waiter, some_failure(session));
	if (is_receiving(session))
		receive_finish(session);
	if (is_sending(session))
		send_finish(session);
	bool failed = (session->send != NULL && session->send->failure.set) ||
		      (session->receive != NULL && session->receive->failure.set);
	return failed ? -1 : 0;
}
