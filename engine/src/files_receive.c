#include "files_receive.h"

#include "clock.h"
#include "files_message.h"
#include "files_stream.h"
#include "session.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define TICK_NS (NS_PER_S / 4)
/* So that the result fits a frame of the control connection. */
#define OUTCOMES_LISTED 200

struct session {
	struct receive_state *state;
	struct files_receiving receiving;
};

static void notify(void *context)
{
	const struct session *session = context;
	streams_post(session->state->streams);
}

static int threads_start(struct session *session)
{
	struct receive_state *state = session->state;
	const struct store_plan plan = {.root = state->root,
					.sync = !state->options->no_sync,
					.direct = state->options->direct,
					.links = state->options->links,
					.notify = notify,
					.context = session};
	const struct sampler_plan sampling = {.streams = state->streams,
					      .side = TUNE_RECEIVE,
					      .interval_ns = state->options->interval_ns,
					      .samples = state->samples,
					      .tcp_info = state->tcp_info};
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

static int timer_next(struct receive_state *state)
{
	uint64_t ns = state->started ? TICK_NS : state->options->idle_timeout_ns;
	return waiter_arm(state->waiter, clock_monotonic_ns() + ns, &state->failure);
}

/* Each on_* returns true when receiving is over, for good or not. */

static bool on_control(struct session *session)
{
	cJSON *message;
	enum message_type type;
	struct receive_state *state = session->state;
	enum control_status status = control_take(state->control, &message, &type, &state->failure);
	if (status == CONTROL_PENDING)
		return false;
	if (status != CONTROL_MESSAGE)
		return true;
	if (type == MESSAGE_GO && !state->started) {
		cJSON_Delete(message);
		state->started = true;
		state->start_unix_ns = clock_unix_ns();
		(void)gate_open(streams_gate(state->streams), clock_monotonic_ns());
		return timer_next(state) != 0;
	}
	if (type == MESSAGE_STOP) {
		cJSON_Delete(message);
		(void)failure_set(&state->failure, "stopped by the sender");
		return true;
	}
	(void)session_refuse(message, type, &state->failure);
	return true;
}

/* What the threads want the sender to know. */
static int outbox_send(struct session *session)
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
static bool thread_failed(struct session *session)
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
		(void)failure_set_errno(&state->failure, error, "stream %u was lost", index);
	return state->failure.set;
}

static bool on_streams(struct session *session)
{
	struct receive_state *state = session->state;
	streams_acknowledge(state->streams);
	if (outbox_send(session) != 0 || thread_failed(session))
		return true;
	return store_settled(session->receiving.store) || streams_all_finished(state->streams);
}

static bool on_timer(struct session *session)
{
	struct store_counts counts;
	struct receive_state *state = session->state;
	if (!state->started) {
		(void)failure_set(&state->failure, "the sender did not begin");
		return true;
	}
	store_count(session->receiving.store, &counts);
	const struct progress progress = {.bytes = counts.bytes_verified,
					  .resumed = counts.bytes_resumed,
					  .settled = counts.settled};
	return control_send(state->control, progress_encode(&progress), &state->failure) != 0 ||
	       timer_next(state) != 0;
}

static bool on_signal(struct session *session)
{
	struct receive_state *state = session->state;
	state->signal = waiter_take_signal(state->waiter);
	(void)failure_set(&state->failure, "the receiver was interrupted by %s",
			  signal_name(state->signal));
	return true;
}

static void events_follow(struct session *session)
{
	struct receive_state *state = session->state;
	struct waiter *waiter = state->waiter;
	bool over = timer_next(state) != 0;
	waiter_watch(waiter, SLOT_CONTROL, control_fd(state->control), POLLIN);
	waiter_watch(waiter, SLOT_STREAMS, streams_event_fd(state->streams), POLLIN);
	while (!over && waiter_wait(waiter, &state->failure) == 0) {
		if (waiter_ready(waiter, SLOT_SIGNAL))
			over = on_signal(session);
		else if (waiter_ready(waiter, SLOT_STREAMS))
			over = on_streams(session);
		else if (waiter_ready(waiter, SLOT_CONTROL))
			over = on_control(session);
		else if (waiter_ready(waiter, SLOT_TIMER))
			over = on_timer(session);
	}
	waiter_forget(waiter, SLOT_CONTROL);
	waiter_forget(waiter, SLOT_STREAMS);
	(void)waiter_disarm(waiter, &state->failure);
}

static void failed_files_say(struct session *session, const cJSON *files)
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

static uint64_t since(uint64_t time_ns, uint64_t start_ns)
{
	return time_ns > start_ns ? time_ns - start_ns : 0;
}

static void counts_add(cJSON *object, const struct store_counts *counts)
{
	json_add_u64(object, "entries", counts->entries);
	json_add_u64(object, "files_done", counts->files_done);
	json_add_u64(object, "files_kept", counts->files_kept);
	json_add_u64(object, "directories", counts->directories);
	json_add_u64(object, "symlinks", counts->links);
	json_add_u64(object, "failed", counts->failed);
	json_add_u64(object, "unfinished", counts->entries - counts->settled);
	json_add_u64(object, "files_written_direct", counts->files_direct);
	json_add_u64(object, "blocks_verified", counts->blocks_verified);
	json_add_u64(object, "blocks_resumed", counts->blocks_resumed);
	json_add_u64(object, "blocks_unproved", counts->blocks_unproved);
	json_add_u64(object, "faults", counts->blocks_faulty);
	json_add_u64(object, "bytes_verified", counts->bytes_verified);
	json_add_u64(object, "bytes_zero", counts->bytes_zero);
	json_add_u64(object, "bytes_resumed", counts->bytes_resumed);
}

static cJSON *files_json(struct session *session)
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
	written_ns = since(written_ns, start_ns);
	durable_ns = since(durable_ns, start_ns);
	uint64_t travelled = counts.bytes_verified - counts.bytes_zero;
	json_add_text(object, "direct", direct_policy_name(state->options->direct));
	json_add_bool(object, "synced", !state->options->no_sync);
	json_add_seconds(object, "written_s", written_ns);
	json_add_seconds(object, "durable_s", durable_ns);
	json_add_u64(object, "goodput_bps", goodput_bps(travelled, written_ns));
	json_add_u64(object, "goodput_durable_bps", goodput_bps(travelled, durable_ns));
	json_add_item(object, "fault_list", store_faults(store));
	json_add_item(object, "outcomes", store_outcomes(store, OUTCOMES_LISTED, &left_out));
	json_add_u64(object, "outcomes_left_out", left_out);
	return object;
}

static void report_finish(struct session *session)
{
	struct receive_state *state = session->state;
	state->report.files = files_json(session);
	failed_files_say(session, state->report.files);
	if (sampler_error(state->sampler) != NULL)
		(void)failure_set(&state->failure, "receiver: %s", sampler_error(state->sampler));
	state->report.complete = !state->failure.set;
	if (state->failure.set)
		(void)snprintf(state->report.error, sizeof(state->report.error), "%s",
			       state->failure.text);
}

int files_receive(struct receive_state *state)
{
	struct session session = {.state = state,
				  .receiving = {.mutex = PTHREAD_MUTEX_INITIALIZER}};
	int status = threads_start(&session);
	if (status == 0)
		events_follow(&session);
	streams_stop(state->streams);
	streams_join(state->streams);
	if (status == 0) {
		sampler_stop(state->sampler);
		/* A thread may have said why after the connection that it broke had ended all. */
		(void)thread_failed(&session);
		if (!store_close(session.receiving.store, !state->failure.set))
			(void)failure_set(&state->failure,
					  "the sender ended before all files were there");
		receive_report_make(state);
		report_finish(&session);
	}
	store_destroy(session.receiving.store);
	return state->failure.set ? -1 : 0;
}
