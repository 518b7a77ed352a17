#include "receive/files.h"

#include "base/clock.h"
#include "base/number.h"
#include "control/session.h"
#include "files/message.h"
#include "files/stream.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define TICK_NS (NS_PER_S / 4)
/* So that the result fits a frame of the control connection. */
#define OUTCOMES_LISTED 200

_Static_assert(TRUST_BYTES == JOURNAL_TRUST_BYTES, "one name of it");

struct files_reception {
	struct receive_state *state;
	uint64_t end_ns; /* CLOCK_MONOTONIC: --max-time is over; UINT64_MAX: never */
	struct files_receiving receiving;
	uint64_t early_bytes; /* that had come at go (telemetry/goodput.h) */
	uint64_t look_ns;     /* when to see next whether data still move */
};

static void notify(void *context)
{
	const struct files_reception *session = context;
	streams_post(session->state->streams);
}

static int threads_start(struct files_reception *session)
{
	struct receive_state *state = session->state;
	struct store_plan plan = {.root = state->root,
				  .sync = !state->options->no_sync,
				  .direct = state->options->direct,
				  .links = state->options->links,
				  .max_bytes = state->options->admission.max_file_bytes,
				  .max_files = state->options->admission.max_files,
				  .wanted = state->options->paths,
				  .wanted_count = state->options->path_count,
				  .notify = notify,
				  .context = session};
	const struct sampler_plan sampling = {.streams = state->streams,
					      .side = TUNE_RECEIVE,
					      .preamble_bytes = state->preamble_bytes,
					      .interval_ns = state->options->interval_ns,
					      .samples = state->samples,
					      .tcp_info = state->tcp_info};
	control_name_trust(state->control, state->request.protect, plan.trust);
	cpu_usage_read(&state->cpu);
	state->meter = host_meter_start();
	state->start_unix_ns = clock_unix_ns();
	session->receiving.store = store_create(&plan, &state->failure);
	if (session->receiving.store == NULL)
		return -1;
	state->sampler = sampler_start(&sampling, &state->failure);
	if (state->sampler == NULL || streams_work(state->streams, false, files_stream_receive,
						   &session->receiving, &state->failure) != 0)
		return -1;
	return control_send(state->control, message_create(MESSAGE_READY), &state->failure);
}

static int timer_next(const struct files_reception *session)
{
	struct receive_state *state = session->state;
	uint64_t ns = state->started ? TICK_NS : state->options->idle_timeout_ns;
	uint64_t at_ns = clock_monotonic_ns() + ns;
	return waiter_arm(state->waiter, at_ns < session->end_ns ? at_ns : session->end_ns,
			  &state->failure);
}

/* Each on_* returns true when receiving is over, for good or not. */

/* Takes the message. */
static bool message_follow(struct files_reception *session, cJSON *message, enum message_type type)
{
	struct receive_state *state = session->state;
	if (type == MESSAGE_GO && !state->started) {
		cJSON_Delete(message);
		state->started = true;
		state->start_unix_ns = clock_unix_ns();
		uint64_t now_ns = clock_monotonic_ns();
		uint64_t most_ns = state->options->admission.max_duration_ns;
		session->end_ns = most_ns != 0 ? now_ns + most_ns : UINT64_MAX;
		stall_start(&state->stall, state->options->stall_ns, streams_moved(state->streams),
			    now_ns);
		stall_demand(&state->stall, state->options->admission.min_rate_bps);
		(void)control_rest(state->control, &state->failure);
		session->early_bytes = streams_arrived(state->streams);
		(void)gate_open(streams_gate(state->streams), now_ns);
		return timer_next(session) != 0;
	}
	if (type == MESSAGE_STOP) {
		cJSON_Delete(message);
		(void)failure_set(&state->failure, "stopped by the sender");
		return true;
	}
	(void)session_refuse(message, type, &state->failure);
	return true;
}

/* All that came together: what is in the decoder wakes nobody. */
static bool on_control(void *context)
{
	struct files_reception *session = context;
	cJSON *message;
	enum message_type type;
	enum control_status status;
	struct receive_state *state = session->state;
	while ((status = control_take(state->control, &message, &type, &state->failure)) ==
	       CONTROL_MESSAGE) {
		if (message_follow(session, message, type))
			return true;
	}
	return status != CONTROL_PENDING;
}

/* What the threads want the sender to know. */
static int outbox_send(struct files_reception *session)
{
	cJSON *message;
	struct receive_state *state = session->state;
	while ((message = store_take(session->receiving.store)) != NULL) {
		if (control_send(state->control, message, &state->failure) != 0)
			return -1;
	}
	return 0;
}

/* What a thread said comes before the errno that it left. */
static bool thread_failed(struct files_reception *session)
{
	unsigned index;
	int error;
	struct receive_state *state = session->state;
	(void)pthread_mutex_lock(&session->receiving.mutex);
	if (session->receiving.failure.set)
		(void)failure_set(&state->failure, "%s", session->receiving.failure.text);
	(void)pthread_mutex_unlock(&session->receiving.mutex);
	if (state->failure.set)
		return true;
	if (streams_first_error(state->streams, &index, &error))
		receive_lost(state, index, error);
	return state->failure.set;
}

static bool on_streams(void *context)
{
	struct files_reception *session = context;
	struct receive_state *state = session->state;
	streams_acknowledge(state->streams);
	if (outbox_send(session) != 0 || thread_failed(session))
		return true;
	return store_settled(session->receiving.store) || streams_all_finished(state->streams);
}

static int progress_send(struct files_reception *session, bool busy)
{
	struct store_counts counts;
	struct receive_state *state = session->state;
	store_count(session->receiving.store, &counts);
	const struct progress progress = {.bytes = counts.bytes_verified,
					  .resumed = counts.bytes_resumed,
					  .settled = counts.settled,
					  .busy = busy};
	return control_send(state->control, progress_encode(&progress), &state->failure);
}

static bool is_busy(struct files_reception *session)
{
	struct store_counts counts;
	store_count(session->receiving.store, &counts);
	return counts.finishing != 0 || counts.proving != 0 ||
	       atomic_load(&session->receiving.busy) != 0;
}

/* Has nothing come for too long? While a thread is at the disk, the sender may have to wait. */
static bool is_stalled(struct files_reception *session, bool busy)
{
	struct receive_state *state = session->state;
	struct stall *stall = &state->stall;
	uint64_t now_ns = clock_monotonic_ns();
	if (busy)
		stall_excuse(stall, now_ns);
	if (now_ns < session->look_ns)
		return false;
	session->look_ns = stall_look_ns(stall, now_ns);
	return stall_look(stall, streams_moved(state->streams), now_ns);
}

static bool on_timer(void *context)
{
	struct files_reception *session = context;
	struct receive_state *state = session->state;
	bool busy = is_busy(session);
	if (!state->started) {
		(void)failure_set(&state->failure, "the sender did not begin");
		return true;
	}
	if (clock_monotonic_ns() >= session->end_ns) {
		(void)failure_set(
		    &state->failure,
		    "the %.3f s that this receiver allows are over (run again to resume)",
		    (double)state->options->admission.max_duration_ns / 1e9);
		return true;
	}
	if (is_stalled(session, busy)) {
		receive_stalled(state);
		return true;
	}
	return progress_send(session, busy) != 0 || timer_next(session) != 0;
}

static bool on_signal(void *context)
{
	struct files_reception *session = context;
	struct receive_state *state = session->state;
	state->signal = waiter_take_signal(state->waiter);
	(void)failure_set(&state->failure, "the receiver was interrupted by %s",
			  signal_name(state->signal));
	return true;
}

static void events_follow(struct files_reception *session)
{
	struct receive_state *state = session->state;
	/* Small files keep the streams' event ready without a pause. */
	const struct waiter_turn turns[] = {
	    {SLOT_SIGNAL, -1, on_signal},
	    {SLOT_TIMER, -1, on_timer},
	    {SLOT_CONTROL, control_fd(state->control), on_control},
	    {SLOT_STREAMS, streams_event_fd(state->streams), on_streams},
	};
	if (timer_next(session) == 0 && !on_control(session))
		(void)waiter_follow(state->waiter, turns, sizeof(turns) / sizeof(turns[0]), session,
				    &state->failure);
	(void)waiter_disarm(state->waiter, &state->failure);
}

static void failed_files_say(struct files_reception *session, const cJSON *files)
{
	struct store_counts counts;
	store_count(session->receiving.store, &counts);
	if (counts.failed == 0)
		return;
	const cJSON *first =
	    cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(files, "outcomes"), 0);
	const char *path = json_get_text(first, "path");
	const char *error = json_get_text(first, "error");
	(void)failure_set(&session->state->failure, "%llu of %llu entries failed; '%.200s': %s",
			  (unsigned long long)counts.failed, (unsigned long long)counts.entries,
			  path != NULL ? path : "?", error != NULL ? error : "?");
}

static void counts_add(cJSON *object, const struct store_counts *counts)
{
	json_add_u64(object, "entries", counts->entries);
	json_add_u64(object, "files_done", counts->files_done);
	json_add_u64(object, "files_kept", counts->files_kept);
	json_add_u64(object, "files_anew", counts->files_anew);
	json_add_u64(object, "directories", counts->directories);
	json_add_u64(object, "symlinks", counts->links);
	json_add_u64(object, "failed", counts->failed);
	json_add_u64(object, "unfinished", counts->entries - counts->settled);
	json_add_u64(object, "files_written_direct", counts->files_direct);
	json_add_u64(object, "blocks_verified", counts->blocks_verified);
	json_add_u64(object, "blocks_resumed", counts->blocks_resumed);
	json_add_u64(object, "blocks_unproved", counts->blocks_unproved);
	json_add_u64(object, "blocks_unread", counts->blocks_unread);
	json_add_u64(object, "faults", counts->blocks_faulty);
	json_add_u64(object, "bytes_verified", counts->bytes_verified);
	json_add_u64(object, "bytes_zero", counts->bytes_zero);
	json_add_u64(object, "bytes_resumed", counts->bytes_resumed);
}

static cJSON *files_json(struct files_reception *session)
{
	uint64_t left_out;
	uint64_t written_ns;
	uint64_t durable_ns;
	struct store_counts counts;
	struct receive_state *state = session->state;
	struct store *store = session->receiving.store;
	uint64_t start_ns = gate_start_ns(streams_gate(state->streams));
	cJSON *object = cJSON_CreateObject();
	store_count(store, &counts);
	store_times(store, &written_ns, &durable_ns);
	counts_add(object, &counts);
	/* Size and mtime say nothing of who had the bytes before. */
	uint64_t unproved = state->request.protect != PROTECT_NONE ? counts.files_kept : 0;
	json_add_u64(object, "files_kept_unproved", unproved);
	anew_tell(counts.files_anew);
	kept_tell(unproved);
	written_ns = number_above(written_ns, start_ns);
	durable_ns = number_above(durable_ns, start_ns);
	uint64_t travelled = counts.bytes_verified - counts.bytes_zero;
	json_add_text(object, "direct", direct_policy_name(state->options->direct));
	json_add_bool(object, "synced", store_synced(store));
	json_add_seconds(object, "written_s", written_ns);
	json_add_seconds(object, "durable_s", durable_ns);
	struct goodput goodput = {
	    .bytes = travelled, .early_bytes = session->early_bytes, .duration_ns = written_ns};
	json_add_u64(object, "early_bytes", session->early_bytes);
	json_add_u64(object, "goodput_bps", goodput_bps(&goodput));
	goodput.duration_ns = durable_ns;
	json_add_u64(object, "goodput_durable_bps", goodput_bps(&goodput));
	json_add_item(object, "fault_list", store_faults(store));
	json_add_item(object, "outcomes", store_outcomes(store, OUTCOMES_LISTED, &left_out));
	json_add_u64(object, "outcomes_left_out", left_out);
	return object;
}

static void report_finish(struct files_reception *session)
{
	struct receive_state *state = session->state;
	state->report.files = files_json(session);
	failed_files_say(session, state->report.files);
	receive_report_close(state);
}

int files_receive(struct receive_state *state)
{
	struct files_reception session = {.state = state,
					  .end_ns = UINT64_MAX,
					  .receiving = {.mutex = PTHREAD_MUTEX_INITIALIZER}};
	int status = threads_start(&session);
	if (status == 0)
		events_follow(&session);
	/* What follows is the disk's: the sender shall not take us for dead. */
	if (status == 0 && !state->failure.set)
		(void)progress_send(&session, true);
	streams_stop(state->streams);
	streams_join(state->streams);
	if (status == 0) {
		sampler_stop(state->sampler);
		/* A thread may have said why after the connection that it broke had ended all. */
		(void)thread_failed(&session);
		if (!store_close(session.receiving.store, !state->failure.set, &state->failure))
			(void)failure_set(&state->failure,
					  "the sender ended before all files were there");
		receive_report_make(state);
		report_finish(&session);
	}
	store_destroy(session.receiving.store);
	return state->failure.set ? -1 : 0;
}
