#include "clock.h"
#include "receive.h"
#include "session.h"
#include "verify_report.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

/* The sender has this long to take the result and close. */
#define DELIVERY_NS (10 * NS_PER_S)

static int threads_place(struct receive_state *state)
{
	struct cpus cpus;
	struct route route = {0};
	struct failure ignored = {0};
	if (state->options->affinity != NULL &&
	    route_find(streams_fd(state->streams, 0), &route, &ignored) != 0)
		route.device[0] = '\0';
	if (cpus_choose(state->options->affinity, &route, &cpus, state->report.affinity,
			sizeof(state->report.affinity), &state->failure) != 0)
		return -1;
	streams_pin(state->streams, &cpus);
	return 0;
}

static int threads_start(struct receive_state *state)
{
	const struct receiving receiving = {
	    .mode = state->request.receive,
	    .seed = state->request.payload_seed,
	    .block_bytes = state->request.block_bytes,
	    .bytes = state->request.bytes,
	    .window_clamp_bytes = state->request.window_exact ? state->request.window_bytes : 0};
	const struct sampler_plan plan = {
	    .streams = state->streams,
	    .side = TUNE_RECEIVE,
	    .interval_ns = state->options->interval_ns,
	    .samples = state->samples,
	    .tcp_info = state->tcp_info,
	};
	if (threads_place(state) != 0)
		return -1;
	/* Without a go there are no figures; the clock of the processor runs from here. */
	cpu_usage_read(&state->cpu);
	state->meter = host_meter_start();
	state->start_unix_ns = clock_unix_ns();
	state->sampler = sampler_start(&plan, &state->failure);
	if (state->sampler == NULL ||
	    streams_receive(state->streams, &receiving, &state->failure) != 0)
		return -1;
	return control_send(state->control, message_create(MESSAGE_READY), &state->failure);
}

/* CLOCK_MONOTONIC from which bytes and time count: the first byte read, or the end of the warm-up.
 */
static uint64_t figures_begin(const struct receive_state *state)
{
	return state->warm_ns != 0 ? state->warm_ns : streams_first_ns(state->streams);
}

/*
 * What the timer stands for depends on what has come so far: a go within the idle timeout, then a
 * first byte, then the end of the warm-up, then the time limit, counted from there or from the
 * first byte that any stream read.
 */
static int timer_choose(struct receive_state *state)
{
	uint64_t first_ns = streams_first_ns(state->streams);
	uint64_t duration_ns = state->request.duration_ns;
	uint64_t at_ns = 0;
	if (first_ns != 0 && state->request.omit_ns != 0 && state->warm_ns == 0)
		at_ns = first_ns + state->request.omit_ns;
	else if (first_ns != 0)
		at_ns = duration_ns != 0 ? figures_begin(state) + duration_ns : 0;
	else if (!state->started)
		at_ns = clock_monotonic_ns() + state->options->idle_timeout_ns;
	else if (duration_ns != 0)
		at_ns = clock_monotonic_ns() + duration_ns + PATIENCE_NS;
	return at_ns != 0 ? waiter_arm(state->waiter, at_ns, &state->failure)
			  : waiter_disarm(state->waiter, &state->failure);
}

/* Each on_* returns true when reading is over, for good or not. */

static bool on_control(struct receive_state *state)
{
	cJSON *message;
	enum message_type type;
	switch (control_take(state->control, &message, &type, &state->failure)) {
	case CONTROL_PENDING:
		return false;
	case CONTROL_MESSAGE:
		break;
	case CONTROL_CLOSED:
		/* Nobody to report to any more. */
	case CONTROL_INVALID:
	default:
		return true;
	}
	if (type == MESSAGE_GO && !state->started) {
		cJSON_Delete(message);
		state->started = true;
		state->start_unix_ns = clock_unix_ns();
		(void)gate_open(streams_gate(state->streams), clock_monotonic_ns());
		return timer_choose(state) != 0;
	}
	if (type == MESSAGE_STOP) {
		cJSON_Delete(message);
		(void)failure_set(&state->failure, "stopped by the sender");
		return true;
	}
	(void)session_refuse(message, type, &state->failure);
	return true;
}

static bool on_streams(struct receive_state *state)
{
	unsigned index;
	int error;
	streams_acknowledge(state->streams);
	if (streams_first_error(state->streams, &index, &error)) {
		(void)failure_set_errno(&state->failure, error, "stream %u was lost", index);
		return true;
	}
	return streams_all_finished(state->streams) || timer_choose(state) != 0;
}

static bool on_warm(struct receive_state *state)
{
	struct stream_view view;
	state->warm_ns = clock_monotonic_ns();
	for (unsigned i = 0; i < state->request.streams; i++) {
		streams_look(state->streams, i, &view);
		state->warm_bytes[i] = view.bytes;
	}
	return timer_choose(state) != 0;
}

static bool on_timer(struct receive_state *state)
{
	if (streams_first_ns(state->streams) != 0 && state->request.omit_ns != 0 &&
	    state->warm_ns == 0)
		return on_warm(state);
	if (streams_first_ns(state->streams) != 0) {
		streams_cut(state->streams);
		state->time_up = true;
	} else {
		(void)failure_set(&state->failure, state->started ? "no data came from the sender"
								  : "the sender did not begin");
	}
	return true;
}

static bool on_signal(struct receive_state *state)
{
	state->signal = waiter_take_signal(state->waiter);
	(void)failure_set(&state->failure, "the receiver was interrupted by %s",
			  signal_name(state->signal));
	return true;
}

static void events_follow(struct receive_state *state)
{
	struct waiter *waiter = state->waiter;
	bool over = timer_choose(state) != 0;
	waiter_watch(waiter, SLOT_CONTROL, control_fd(state->control), POLLIN);
	waiter_watch(waiter, SLOT_STREAMS, streams_event_fd(state->streams), POLLIN);
	while (!over) {
		if (waiter_wait(waiter, &state->failure) != 0)
			break;
		if (waiter_ready(waiter, SLOT_TIMER))
			over = on_timer(state);
		else if (waiter_ready(waiter, SLOT_SIGNAL))
			over = on_signal(state);
		else if (waiter_ready(waiter, SLOT_STREAMS))
			over = on_streams(state);
		else if (waiter_ready(waiter, SLOT_CONTROL))
			over = on_control(state);
	}
	waiter_forget(waiter, SLOT_CONTROL);
	waiter_forget(waiter, SLOT_STREAMS);
	(void)waiter_disarm(waiter, &state->failure);
}

static uint64_t since(uint64_t time_ns, uint64_t start_ns)
{
	return time_ns > start_ns ? time_ns - start_ns : 0;
}

/*
 * Times since the start; a time limit is exact, whenever the thread was woken to notice it. No
 * stream begins before the figures do: a thread that has looked at the clock can be preempted
 * before it says so, and another's later first byte is then the transfer's.
 */
static void stream_report_make(struct receive_state *state, unsigned index, uint64_t start_ns,
			       uint64_t end_ns)
{
	uint64_t begin_ns = figures_begin(state);
	struct stream_view view;
	struct stream_report *report = &state->report.stream[index];
	streams_look(state->streams, index, &view);
	if (view.last_ns > end_ns)
		view.last_ns = end_ns;
	if (view.first_ns != 0 && view.first_ns < begin_ns)
		view.first_ns = begin_ns;
	report->bytes = view.bytes - state->warm_bytes[index];
	report->calls = view.calls;
	report->cpu_ns = view.cpu_ns;
	report->first_ns = since(view.first_ns, start_ns);
	report->last_ns = since(view.last_ns, start_ns);
	if (report->last_ns < report->first_ns)
		report->last_ns = report->first_ns;
	const struct tcp_info *info = &sampler_look(state->sampler, index)->info;
	report->tcp_info = tcp_info_json(info);
	const struct verify_report *verified = streams_verified(state->streams, index);
	report->checked = verified != NULL;
	if (verified != NULL)
		report->verified = *verified;
	state->report.packets_received += info->raw.segs_in;
	state->report.bytes += report->bytes;
	state->report.omitted_bytes += state->warm_bytes[index];
}

void receive_report_make(struct receive_state *state)
{
	struct receiver_report *report = &state->report;
	uint64_t first_ns = figures_begin(state);
	uint64_t start_ns = gate_start_ns(streams_gate(state->streams));
	uint64_t end_ns = state->time_up ? first_ns + state->request.duration_ns : UINT64_MAX;
	uint64_t rcvbuf;
	report->rcvbuf_bytes = state->grant.rcvbuf_bytes;
	/* Autotuning has moved it meanwhile. */
	if (tune_buffer(streams_fd(state->streams, 0), TUNE_RECEIVE, &rcvbuf, &state->failure) == 0)
		report->rcvbuf_bytes = rcvbuf;
	report->start_unix_ns = state->start_unix_ns;
	report->cpu = cpu_usage_since(&state->cpu);
	host_meter_stop(state->meter, &report->host);
	state->meter = NULL;
	report->streams = state->request.streams;
	for (unsigned i = 0; i < report->streams; i++) {
		stream_report_make(state, i, start_ns, end_ns);
		uint64_t duration_ns = report->stream[i].last_ns - since(first_ns, start_ns);
		if (report->stream[i].bytes != 0 && duration_ns > report->duration_ns)
			report->duration_ns = duration_ns;
	}
	state->reported = true;
}

static void verification_check(struct receive_state *state)
{
	char text[256];
	struct verify_report total = {0};
	for (unsigned i = 0; i < state->report.streams; i++)
		verify_report_add(&total, &state->report.stream[i].verified);
	if (verify_fault_count(&total) == 0)
		return;
	verify_report_text(&total, text, sizeof(text));
	(void)failure_set(&state->failure, "%s", text);
}

static void completeness_check(struct receive_state *state)
{
	const struct request *request = &state->request;
	verification_check(state);
	bool all = request->bytes != 0 &&
		   state->report.bytes + state->report.omitted_bytes == request->bytes;
	/* An end within the warm-up leaves no figures. */
	if (request->omit_ns != 0 && state->warm_ns == 0)
		(void)failure_set(&state->failure, "the transfer ended within its warm-up");
	if (!all && !state->time_up)
		(void)failure_set(&state->failure, "the sender ended after %" PRIu64 " bytes",
				  state->report.bytes);
	if (sampler_error(state->sampler) != NULL)
		(void)failure_set(&state->failure, "receiver: %s", sampler_error(state->sampler));
	state->report.complete = !state->failure.set;
	if (state->failure.set)
		(void)snprintf(state->report.error, sizeof(state->report.error), "%s",
			       state->failure.text);
}

int receive_transfer(struct receive_state *state)
{
	if (threads_start(state) != 0)
		return -1;
	events_follow(state);
	streams_stop(state->streams);
	streams_join(state->streams);
	sampler_stop(state->sampler);
	receive_report_make(state);
	completeness_check(state);
	return state->failure.set ? -1 : 0;
}

void receive_deliver(struct receive_state *state)
{
	cJSON *message;
	enum message_type type;
	struct failure ignored = {0};
	struct waiter *waiter = state->waiter;
	/* The sender may be gone: then its own report says so, and ours is written here. */
	if (control_send(state->control, receiver_report_encode(&state->report), &ignored) != 0 ||
	    waiter_arm(waiter, clock_monotonic_ns() + DELIVERY_NS, &ignored) != 0)
		return;
	waiter_watch(waiter, SLOT_CONTROL, control_fd(state->control), POLLIN);
	/* The streams are reset only after that, so that the sender hears the result first. */
	for (;;) {
		if (waiter_wait(waiter, &ignored) != 0 || waiter_ready(waiter, SLOT_SIGNAL) ||
		    waiter_ready(waiter, SLOT_TIMER))
			break;
		enum control_status status =
		    control_take(state->control, &message, &type, &ignored);
		if (status == CONTROL_MESSAGE)
			cJSON_Delete(message);
		else if (status != CONTROL_PENDING)
			break;
	}
	waiter_forget(waiter, SLOT_CONTROL);
	(void)waiter_disarm(waiter, &ignored);
}
