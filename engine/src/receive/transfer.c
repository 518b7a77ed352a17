#include "base/clock.h"
#include "base/number.h"
#include "control/admission.h"
#include "control/session.h"
#include "payload/verify_report.h"
#include "receive/receive.h"

#include <errno.h>
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

/*
 * A go must come within the idle timeout. From then on something must move; after the first byte
 * the time limit ends it, which the threads keep by themselves.
 */
static void timer_choose(struct receive_state *state)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t at_ns = state->started
			     ? number_least(stall_look_ns(&state->stall, now_ns), state->limit_ns)
			     : now_ns + state->options->idle_timeout_ns;
	state->wake_ns = number_least(at_ns, streams_end_ns(state->streams));
}

int receive_begin(struct receive_state *state)
{
	const struct receiving receiving = {
	    .mode = state->request.receive,
	    .seed = state->request.payload_seed,
	    .block_bytes = state->request.block_bytes,
	    .bytes = state->request.bytes,
	    .omit_ns = state->request.omit_ns,
	    .duration_ns = state->request.duration_ns,
	    .window_clamp_bytes = state->request.window_exact ? state->request.window_bytes : 0};
	const struct sampler_plan plan = {
	    .streams = state->streams,
	    .side = TUNE_RECEIVE,
	    .preamble_bytes = state->preamble_bytes,
	    .interval_ns = state->options->interval_ns,
	    .samples = state->samples,
	    .tcp_info = state->tcp_info,
	    .live = state->live,
	    .intervals = state->intervals,
	    .report_ns = state->options->report_ns,
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
	if (control_send(state->control, message_create(MESSAGE_READY), &state->failure) != 0)
		return -1;
	timer_choose(state);
	return 0;
}

static void go_take(struct receive_state *state)
{
	uint64_t now_ns = clock_monotonic_ns();
	state->started = true;
	state->start_unix_ns = clock_unix_ns();
	state->limit_ns = admission_end_ns(&state->options->admission, now_ns);
	stall_start(&state->stall, state->options->stall_ns, streams_moved(state->streams), now_ns);
	stall_demand(&state->stall, state->options->admission.min_rate_bps);
	(void)gate_open(streams_gate(state->streams), now_ns);
	timer_choose(state);
	(void)control_rest(state->control, &state->failure);
}

bool receive_on_message(struct receive_state *state, cJSON *message, enum message_type type)
{
	if (type == MESSAGE_GO && !state->started)
		go_take(state);
	else if (type == MESSAGE_STOP)
		(void)failure_set(&state->failure, "stopped by the sender");
	else
		return session_refuse(message, type, &state->failure) != 0;
	cJSON_Delete(message);
	return state->failure.set;
}

void receive_lost(struct receive_state *state, unsigned index, int error)
{
	if (error == EBADMSG && state->request.protect != PROTECT_NONE)
		(void)failure_set(&state->failure,
				  "stream %u: a record is not as it was sealed: it was changed, "
				  "moved, repeated or left out on the way",
				  index);
	else if (error == ECONNRESET && state->request.protect != PROTECT_NONE)
		(void)failure_set(&state->failure,
				  "stream %u was cut: its last record did not come", index);
	else
		(void)failure_set_errno(&state->failure, error, "stream %u was lost", index);
}

/* Has a read returned after the time limit? */
static bool streams_timed_out(const struct receive_state *state)
{
	struct stream_view view = {0};
	for (unsigned i = 0; i < state->request.streams && !view.timed_out; i++)
		streams_look(state->streams, i, &view);
	return view.timed_out;
}

bool receive_on_streams(struct receive_state *state)
{
	unsigned index;
	int error;
	streams_acknowledge(state->streams);
	if (streams_first_error(state->streams, &index, &error)) {
		receive_lost(state, index, error);
		return true;
	}
	if (!streams_all_finished(state->streams)) {
		timer_choose(state);
		return false;
	}
	state->time_up = streams_timed_out(state);
	return true;
}

void receive_stalled(struct receive_state *state)
{
	double limit_s = (double)state->options->stall_ns / 1e9;
	if (streams_moved(state->streams) == state->stall.moved)
		(void)failure_set(&state->failure, "no data came from the sender for %.3g s",
				  limit_s);
	else
		(void)failure_set(
		    &state->failure,
		    "less than %llu bit/s came from the sender for %.3g s (--min-rate)",
		    (unsigned long long)state->options->admission.min_rate_bps, limit_s);
}

bool receive_on_timer(struct receive_state *state, uint64_t now_ns)
{
	if (now_ns >= streams_end_ns(state->streams)) {
		state->time_up = true;
		return true;
	}
	if (!state->started)
		(void)failure_set(&state->failure, "the sender did not begin");
	else if (now_ns >= state->limit_ns)
		(void)admission_over(&state->options->admission, &state->failure);
	else if (stall_look(&state->stall, streams_moved(state->streams), now_ns))
		receive_stalled(state);
	timer_choose(state);
	return state->failure.set;
}

bool receive_on_signal(struct receive_state *state, int signal)
{
	state->signal = signal;
	(void)failure_set(&state->failure, "the receiver was interrupted by %s",
			  signal_name(signal));
	return true;
}

/*
 * Times since the start; a time limit is exact, whenever the thread was woken to notice it. No
 * stream begins before the figures do: a thread that has looked at the clock can be preempted
 * before it says so, and another's later first byte is then the transfer's.
 */
static void stream_report_make(struct receive_state *state, unsigned index, uint64_t start_ns,
			       uint64_t end_ns)
{
	uint64_t begin_ns = streams_begin_ns(state->streams);
	struct stream_view view;
	struct stream_report *report = &state->report.stream[index];
	streams_look(state->streams, index, &view);
	if (view.last_ns > end_ns)
		view.last_ns = end_ns;
	if (view.first_ns != 0 && view.first_ns < begin_ns)
		view.first_ns = begin_ns;
	report->bytes = view.bytes - view.warm_bytes;
	report->early_bytes = view.early_bytes;
	report->calls = view.calls;
	report->cpu_ns = view.cpu_ns;
	report->first_ns = number_above(view.first_ns, start_ns);
	report->last_ns = number_above(view.last_ns, start_ns);
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
	state->report.omitted_bytes += view.warm_bytes;
}

void receive_report_make(struct receive_state *state)
{
	struct receiver_report *report = &state->report;
	uint64_t first_ns = streams_begin_ns(state->streams);
	uint64_t start_ns = gate_start_ns(streams_gate(state->streams));
	uint64_t end_ns = streams_end_ns(state->streams);
	uint64_t rcvbuf;
	/* A thread that has looked at the clock can be preempted before it opens the gate: go may
	 * open it meanwhile, at a later time, which would be missing in a limit that is exact. */
	if (first_ns != 0 && first_ns < start_ns)
		start_ns = first_ns;
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
		uint64_t duration_ns = report->stream[i].last_ns - number_above(first_ns, start_ns);
		if (report->stream[i].bytes != 0 && duration_ns > report->duration_ns)
			report->duration_ns = duration_ns;
	}
	/* Whoever had something may have ended before: the others had the rest of the time. */
	if (state->time_up)
		report->duration_ns = end_ns - first_ns;
	report->early_bytes = number_least(streams_early_bytes(state->streams), report->bytes);
	state->reported = true;
}

void receive_report_close(struct receive_state *state)
{
	struct receiver_report *report = &state->report;
	if (sampler_error(state->sampler) != NULL)
		(void)failure_set(&state->failure, "receiver: %s", sampler_error(state->sampler));
	report->complete = !state->failure.set;
	if (state->failure.set)
		(void)snprintf(report->error, sizeof(report->error), "%s", state->failure.text);
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
	for (unsigned i = 0; i < request->streams; i++) {
		if (streams_brought_more(state->streams, i))
			(void)failure_set(&state->failure,
					  "stream %u brings more than was asked for", i);
	}
	bool all = request->bytes != 0 &&
		   state->report.bytes + state->report.omitted_bytes == request->bytes;
	/* An end within the warm-up leaves no figures. */
	if (request->omit_ns != 0 && state->report.bytes == 0)
		(void)failure_set(&state->failure, "the transfer ended within its warm-up");
	if (!all && !state->time_up)
		(void)failure_set(&state->failure, "the sender ended after %" PRIu64 " bytes",
				  state->report.bytes);
	receive_report_close(state);
}

void receive_end(struct receive_state *state)
{
	streams_stop(state->streams);
	streams_join(state->streams);
	sampler_stop(state->sampler);
	if (state->sampler == NULL)
		return; /* it never began */
	receive_report_make(state);
	completeness_check(state);
}

void receive_farewell(struct receive_state *state)
{
	cJSON *message;
	enum message_type type;
	struct failure ignored = {0};
	struct waiter *waiter = state->waiter;
	if (waiter_arm(waiter, clock_monotonic_ns() + DELIVERY_NS, &ignored) != 0)
		return;
	waiter_watch(waiter, SLOT_CONTROL, control_fd(state->control), POLLIN);
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

void receive_deliver(struct receive_state *state)
{
	struct failure ignored = {0};
	/* The sender may be gone: then its own report says so, and ours is written here. */
	if (control_send(state->control, receiver_report_encode(&state->report), &ignored) == 0)
		receive_farewell(state);
}
