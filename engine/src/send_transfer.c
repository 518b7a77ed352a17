#include "clock.h"
#include "send.h"
#include "session.h"

#include <poll.h>

/* After a signal the receiver has this long to report what it read. */
#define STOP_NS (10 * NS_PER_S)
/* After a lost stream the control connection has this long to say why. */
#define REASON_NS (2 * NS_PER_S)

static int threads_start(struct send_state *state)
{
	const struct options *options = state->options;
	const struct sampler_plan plan = {
	    .streams = state->streams,
	    .side = TUNE_SEND,
	    .interval_ns = options->interval_ns,
	    .limit_ns = options->duration_ns != 0 ? options->omit_ns + options->duration_ns : 0,
	    .samples = state->samples,
	    .tcp_info = state->tcp_info,
	    .live = state->live,
	    .intervals = state->intervals,
	    .report_ns = options->report_ns,
	};
	state->meter = host_meter_start();
	if (streams_send(state->streams, &state->sending, &state->failure) != 0)
		return -1;
	state->sampler = sampler_start(&plan, &state->failure);
	return state->sampler != NULL ? 0 : -1;
}

static int barrier_open(struct send_state *state)
{
	/* First the message: it must be on its way before the data fill every queue. */
	if (control_send(state->control, message_create(MESSAGE_GO), &state->failure) != 0)
		return -1;
	cpu_usage_read(&state->cpu);
	state->start_unix_ns = clock_unix_ns();
	state->start_ns = clock_monotonic_ns();
	(void)gate_open(streams_gate(state->streams), state->start_ns);
	/*
	 * With a time limit the receiver's clock decides: it starts with the first byte that it
	 * reads, and the streams are full until it has reported.
	 */
	if (state->options->duration_ns == 0)
		return 0;
	return waiter_arm(state->waiter,
			  state->start_ns + state->options->omit_ns + state->options->duration_ns +
			      PATIENCE_NS,
			  &state->failure);
}

static int timer_after(struct send_state *state, uint64_t ns)
{
	return waiter_arm(state->waiter, clock_monotonic_ns() + ns, &state->failure);
}

/* Each on_* returns true when the transfer is over, for good or not. */

static bool on_signal(struct send_state *state)
{
	struct failure ignored = {0};
	if (state->signal != 0) {
		(void)waiter_take_signal(state->waiter);
		return true; /* the second one: out, with what is known */
	}
	state->signal = waiter_take_signal(state->waiter);
	(void)failure_set(&state->failure, "interrupted by %s", signal_name(state->signal));
	return control_send(state->control, message_create(MESSAGE_STOP), &ignored) != 0 ||
	       timer_after(state, STOP_NS) != 0;
}

static bool on_control(struct send_state *state)
{
	cJSON *message;
	enum message_type type;
	switch (control_take(state->control, &message, &type, &state->failure)) {
	case CONTROL_PENDING:
		return false;
	case CONTROL_MESSAGE:
		break;
	case CONTROL_CLOSED:
	case CONTROL_INVALID:
	default:
		return true;
	}
	if (type != MESSAGE_RESULT) {
		(void)session_refuse(message, type, &state->failure);
		return true;
	}
	state->reported = receiver_report_decode(message, state->options->streams, &state->report,
						 &state->failure) == 0;
	cJSON_Delete(message);
	if (state->reported && !state->report.complete)
		(void)failure_set(&state->failure, "%s",
				  state->report.error[0] != '\0' ? state->report.error
								 : "the receiver did not get all");
	return true;
}

static bool on_streams(struct send_state *state)
{
	unsigned index;
	int error;
	streams_acknowledge(state->streams);
	if (!streams_first_error(state->streams, &index, &error) || state->failure.set)
		return false;
	(void)failure_set_errno(&state->failure, error, "stream %u was lost", index);
	return timer_after(state, REASON_NS) != 0;
}

static bool on_timer(struct send_state *state)
{
	(void)failure_set(&state->failure, "the receiver did not report");
	return true;
}

static int events_follow(struct send_state *state)
{
	bool over = false;
	struct waiter *waiter = state->waiter;
	waiter_watch(waiter, SLOT_CONTROL, control_fd(state->control), POLLIN);
	waiter_watch(waiter, SLOT_STREAMS, streams_event_fd(state->streams), POLLIN);
	while (!over) {
		if (waiter_wait(waiter, &state->failure) != 0)
			break;
		/* The result goes before what its arrival may have caused in the streams. */
		if (waiter_ready(waiter, SLOT_CONTROL))
			over = on_control(state);
		else if (waiter_ready(waiter, SLOT_SIGNAL))
			over = on_signal(state);
		else if (waiter_ready(waiter, SLOT_STREAMS))
			over = on_streams(state);
		else if (waiter_ready(waiter, SLOT_TIMER))
			over = on_timer(state);
	}
	waiter_forget(waiter, SLOT_CONTROL);
	waiter_forget(waiter, SLOT_STREAMS);
	return state->failure.set ? -1 : 0;
}

int send_transfer(struct send_state *state)
{
	struct failure ignored = {0};
	int status =
	    threads_start(state) == 0 && barrier_open(state) == 0 ? events_follow(state) : -1;
	state->end_ns = clock_monotonic_ns();
	/* Autotuning has moved it; a lost connection keeps the figure from before. */
	(void)tune_buffer(streams_fd(state->streams, 0), TUNE_SEND, &state->sndbuf_bytes, &ignored);
	streams_stop(state->streams);
	streams_join(state->streams);
	sampler_stop(state->sampler);
	state->cpu = cpu_usage_since(&state->cpu);
	host_meter_stop(state->meter, &state->host);
	state->meter = NULL;
	if (state->sampler != NULL && sampler_error(state->sampler) != NULL)
		status = failure_set(&state->failure, "%s", sampler_error(state->sampler));
	return status;
}
