#include "base/clock.h"
#include "base/number.h"
#include "control/admission.h"
#include "control/session.h"
#include "send/send.h"

#include <errno.h>

int send_threads_start(struct send_state *state, int (*start)(struct send_state *state))
{
	const struct options *options = state->options;
	const struct sampler_plan plan = {
	    .streams = state->streams,
	    .side = TUNE_SEND,
	    .preamble_bytes = state->preamble_bytes,
	    .interval_ns = options->interval_ns,
	    .limit_ns = options->asked.duration_ns != 0
			    ? options->asked.omit_ns + options->asked.duration_ns
			    : 0,
	    .samples = state->samples,
	    .tcp_info = state->tcp_info,
	    .live = state->live,
	    .intervals = state->files == NULL ? state->intervals : NULL, /* files have a bar */
	    .report_ns = options->report_ns,
	};
	state->meter = host_meter_start();
	if (start(state) != 0)
		return -1;
	state->sampler = sampler_start(&plan, &state->failure);
	return state->sampler != NULL ? 0 : -1;
}

/* From now on the receiver has that long for its next word, and need not move anything. */
static void word_await(struct send_state *state, uint64_t ns)
{
	state->deadline_ns = clock_monotonic_ns() + ns;
	state->wake_ns = state->deadline_ns;
}

/* For a word that the receiver says at once; where a transfer may rest for longer, so may the word.
 */
static uint64_t patience_ns(const struct send_state *state)
{
	return number_most(PATIENCE_NS, state->options->stall_ns);
}

static int streams_begin(struct send_state *state)
{
	return streams_send(state->streams, &state->sending, &state->failure);
}

int send_begin(struct send_state *state)
{
	if (send_threads_start(state, streams_begin) != 0)
		return -1;
	word_await(state, patience_ns(state));
	return 0;
}

static void timer_choose(struct send_state *state)
{
	state->wake_ns = number_least(stall_look_ns(&state->stall, clock_monotonic_ns()),
				      number_least(state->deadline_ns, state->limit_ns));
}

int send_open(struct send_state *state)
{
	/* First the message: it must be on its way before the data fill every queue. */
	if (control_send(state->control, message_create(MESSAGE_GO), &state->failure) != 0 ||
	    control_rest(state->control, &state->failure) != 0)
		return -1;
	cpu_usage_read(&state->cpu);
	state->start_unix_ns = clock_unix_ns();
	state->start_ns = clock_monotonic_ns();
	state->limit_ns = admission_end_ns(&state->options->admission, state->start_ns);
	(void)gate_open(streams_gate(state->streams), state->start_ns);
	stall_start(&state->stall, state->options->stall_ns, streams_moved(state->streams),
		    state->start_ns);
	stall_demand(&state->stall, state->options->admission.min_rate_bps);
	return 0;
}

static bool barrier_open(struct send_state *state)
{
	if (send_open(state) != 0)
		return true;
	/*
	 * With a time limit the receiver's clock decides: it starts with the first byte that it
	 * reads, and the streams are full until it has reported.
	 */
	state->deadline_ns = state->options->asked.duration_ns == 0
				 ? UINT64_MAX
				 : state->start_ns + state->options->asked.omit_ns +
				       state->options->asked.duration_ns + patience_ns(state);
	timer_choose(state);
	return false;
}

void send_take_result(struct send_state *state, const cJSON *message)
{
	state->reported = receiver_report_decode(message, state->options->asked.streams,
						 &state->report, &state->failure) == 0;
	/* It closes at its end: on a thin way back that is heard before its word. */
	if (state->stream_lost && state->reported && state->report.complete)
		state->failure = (struct failure){0};
	if (state->reported && !state->report.complete)
		(void)failure_set(&state->failure, "%s",
				  state->report.error[0] != '\0' ? state->report.error
								 : "the receiver did not get all");
}

bool send_on_message(struct send_state *state, cJSON *message, enum message_type type)
{
	bool over = true;
	if (type == MESSAGE_READY && state->start_ns == 0)
		over = barrier_open(state);
	else if (type == MESSAGE_RESULT && state->start_ns != 0)
		send_take_result(state, message);
	else
		return session_refuse(message, type, &state->failure) != 0;
	cJSON_Delete(message);
	return over;
}

bool send_on_signal(struct send_state *state, int signal)
{
	struct failure ignored = {0};
	if (state->signal != 0)
		return true; /* the second one: out, with what is known */
	state->signal = signal;
	(void)failure_set(&state->failure, "interrupted by %s", signal_name(signal));
	word_await(state, SEND_STOP_NS);
	return control_send(state->control, message_create(MESSAGE_STOP), &ignored) != 0;
}

void send_lost(struct send_state *state, unsigned index, int error)
{
	const char *again = state->files != NULL ? " (run again to resume)" : "";
	if (error == EKEYEXPIRED)
		(void)failure_set(
		    &state->failure,
		    "stream %u: its key has protected the %llu GB that one may "
		    "(--protect ktls; RFC 8446, 5.5): more streams have more keys, and "
		    "--protect aead changes its own%s",
		    index, (unsigned long long)(TLS_KEY_RECORDS * TLS_PAYLOAD_BYTES / 1000000000),
		    again);
	else
		(void)failure_set_errno(&state->failure, error, "stream %u was lost%s", index,
					again);
}

bool send_on_streams(struct send_state *state)
{
	unsigned index;
	int error;
	streams_acknowledge(state->streams);
	if (!streams_first_error(state->streams, &index, &error) || state->failure.set)
		return false;
	send_lost(state, index, error);
	state->stream_lost = true;
	word_await(state, SEND_REASON_NS);
	return false;
}

bool send_on_timer(struct send_state *state, uint64_t now_ns)
{
	if (now_ns >= state->deadline_ns && state->start_ns == 0)
		(void)failure_set(&state->failure, "no '%s' from the peer within %llu s",
				  message_type_name(MESSAGE_READY),
				  (unsigned long long)(patience_ns(state) / NS_PER_S));
	else if (state->start_ns != 0 && now_ns >= state->limit_ns)
		(void)admission_over(&state->options->admission, &state->failure);
	else if (now_ns >= state->deadline_ns)
		(void)failure_set(&state->failure, "the receiver did not report");
	else if (stall_look(&state->stall, streams_moved(state->streams), now_ns))
		(void)failure_set(&state->failure, "the receiver took no data for %.3g s",
				  (double)state->options->stall_ns / 1e9);
	else
		timer_choose(state);
	return state->failure.set;
}

void send_end(struct send_state *state)
{
	struct failure ignored = {0};
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
		(void)failure_set(&state->failure, "%s", sampler_error(state->sampler));
}
