#include "control/session.h"

#include "base/clock.h"
#include "base/output.h"

#include <poll.h>

int session_refuse(cJSON *message, enum message_type type, struct failure *failure)
{
	char text[256];
	if (type == MESSAGE_ERROR) {
		error_decode(message, text, sizeof(text));
		(void)failure_set(failure, "the peer refused: %s", text);
	} else {
		(void)failure_set(failure, "the peer sent '%s' where it does not belong",
				  message_type_name(type));
	}
	cJSON_Delete(message);
	return -1;
}

/* However long it takes: whoever waits can be interrupted, and a dead receiver is noticed. */
static int queue_wait(struct waiter *waiter, cJSON *message, struct failure *failure)
{
	uint64_t place = 0;
	(void)json_get_u64(message, "place", 0, JSON_INTEGER_MAX, &place);
	cJSON_Delete(message);
	if (place == 0)
		output_note("the server looks through its files");
	else
		output_note("the receiver is busy: waiting at place %llu",
			    (unsigned long long)place);
	return waiter_disarm(waiter, failure);
}

/* A receiver that has all may hear only then that the sender had begun, or stopped. */
static bool is_late(enum message_type type, enum message_type wanted)
{
	return (type == MESSAGE_GO || type == MESSAGE_STOP) &&
	       (wanted == MESSAGE_RESULT || wanted == MESSAGE_ACCOUNT);
}

int session_take(struct control *control, cJSON **message, enum message_type *type,
		 struct failure *failure)
{
	switch (control_take(control, message, type, failure)) {
	case CONTROL_PENDING:
		return 0;
	case CONTROL_MESSAGE:
		return 1;
	case CONTROL_CLOSED:
	case CONTROL_INVALID:
	default:
		return -1;
	}
}

/* 1: it is there; 0: nothing whole is; -1 with the failure set. */
static int message_accept(struct waiter *waiter, struct control *control, enum message_type wanted,
			  cJSON **message, struct failure *failure)
{
	/* Those that came together are in the decoder: the socket says nothing of them. */
	for (;;) {
		enum message_type type;
		int came = session_take(control, message, &type, failure);
		if (came <= 0)
			return came;
		if (type == wanted)
			return 1;
		if (is_late(type, wanted))
			cJSON_Delete(*message);
		else if (type != MESSAGE_QUEUED || wanted != MESSAGE_GRANT)
			return session_refuse(*message, type, failure);
		else if (queue_wait(waiter, *message, failure) != 0)
			return -1;
	}
}

int session_expect(struct waiter *waiter, struct control *control, enum message_type wanted,
		   uint64_t timeout_ns, cJSON **message, int *signal, struct failure *failure)
{
	int status = waiter_arm(waiter, clock_monotonic_ns() + timeout_ns, failure);
	waiter_watch(waiter, SLOT_CONTROL, control_fd(control), POLLIN);
	/* A message that came together with the one before is in the decoder, not in the socket. */
	if (status == 0)
		status = message_accept(waiter, control, wanted, message, failure);
	while (status == 0) {
		if (waiter_wait(waiter, failure) != 0) {
			status = -1;
		} else if (waiter_ready(waiter, SLOT_SIGNAL)) {
			*signal = waiter_take_signal(waiter);
			status = failure_set(failure, "interrupted by %s", signal_name(*signal));
		} else if (waiter_ready(waiter, SLOT_CONTROL)) {
			status = message_accept(waiter, control, wanted, message, failure);
		} else if (waiter_ready(waiter, SLOT_TIMER)) {
			status = failure_set(failure, "no '%s' from the peer within %llu s",
					     message_type_name(wanted),
					     (unsigned long long)(timeout_ns / NS_PER_S));
		}
	}
	waiter_forget(waiter, SLOT_CONTROL);
	(void)waiter_disarm(waiter, failure);
	return status > 0 ? 0 : -1;
}

int session_send(struct control *control, cJSON *message, struct failure *failure)
{
	struct failure broken = {0};
	struct failure heard = {0};
	enum message_type type;
	cJSON *said;
	if (control_send(control, message, &broken) == 0)
		return 0;
	/* What it said before it closed is the reason, if it is the engine's language or not. */
	switch (control_take(control, &said, &type, &heard)) {
	case CONTROL_MESSAGE:
		return session_refuse(said, type, failure);
	case CONTROL_INVALID:
		return failure_set(failure, "%s", heard.text);
	case CONTROL_CLOSED:
		return failure_set(failure, "%s: %s", broken.text, heard.text);
	case CONTROL_PENDING:
	default:
		return failure_set(failure, "%s", broken.text);
	}
}

/* Sends what the handshake answers; what is open from then on is tagged. */
static int handshake_answer(struct control *control, struct auth *auth, enum auth_status status,
			    cJSON *answer, struct failure *failure)
{
	if (answer != NULL && session_send(control, answer, failure) != 0)
		return -1;
	if (status == AUTH_OPEN) {
		control_trust(control, true);
		return control_secure(control, &auth->channel, failure);
	}
	return status == AUTH_FAILED ? -1 : 0;
}

int session_authenticate(struct waiter *waiter, struct control *control, const struct key *key,
			 uint64_t timeout_ns, int *signal, struct failure *failure)
{
	struct auth auth;
	enum auth_status status = AUTH_PENDING;
	int result;
	auth_start(&auth, AUTH_CLIENT, key, NULL);
	cJSON *greeting = auth_greet(&auth, &status);
	result = handshake_answer(control, &auth, status, greeting, failure);
	while (result == 0 && status == AUTH_PENDING) {
		cJSON *message = NULL;
		cJSON *answer = NULL;
		enum message_type expected = auth.expected;
		result = session_expect(waiter, control, expected, timeout_ns, &message, signal,
					failure);
		if (result == 0) {
			status = auth_take(&auth, message, expected, &answer, failure);
			cJSON_Delete(message);
			result = handshake_answer(control, &auth, status, answer, failure);
		}
	}
	auth_forget(&auth);
	return result;
}
