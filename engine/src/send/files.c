#include "send/files.h"

#include "base/clock.h"
#include "base/number.h"
#include "base/output.h"
#include "control/admission.h"
#include "control/session.h"
#include "send/files_inside.h"
#include "send/progress.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

/* A receiver whose disk is at work need not take data for this long, however short --stall is. */
#define BUSY_NS (600 * NS_PER_S)
/* Before a client hears that the walk takes long. */
#define WALK_LONG_NS NS_PER_S

static struct files_session *session_create(struct send_state *state)
{
	struct files_session *session = calloc(1, sizeof(*session));
	if (session == NULL) {
		(void)failure_set(&state->failure, "out of memory");
		return NULL;
	}
	state->files = session;
	session->set.root = -1;
	session->quiet = state->options->quiet;
	/* What the checksum was computed of is what travels (files/source.h). */
	state->sending.way = SEND_WRITE;
	(void)snprintf(state->sending_reason, sizeof(state->sending_reason),
		       "files are read into memory, and their blocks' checksums computed there");
	return session;
}

static int work_prepare(struct send_state *state, struct files_session *session)
{
	session->have_bitmap = malloc(HAVE_BLOCKS / 8);
	session->work = work_create(&session->set, &state->failure);
	if (session->have_bitmap == NULL)
		return failure_set(&state->failure, "out of memory");
	session->sending = (struct files_sending){
	    .work = session->work, .set = &session->set, .direct = state->options->direct};
	return session->work != NULL ? 0 : -1;
}

/* A walk, and who may end it: a signal, the server's time limit, a client that goes. */
struct files_walk {
	struct send_state *state;
	uint64_t begun_ns;
	bool told; /* the client knows that it takes long */
};

/* The client has nothing to say before the grant. */
static int client_look(struct send_state *state, struct failure *failure)
{
	cJSON *message;
	enum message_type type;
	int came = session_take(state->control, &message, &type, failure);
	return came > 0 ? session_refuse(message, type, failure) : came;
}

static int walk_look(void *context, struct failure *failure)
{
	struct files_walk *walk = context;
	struct send_state *state = walk->state;
	if (waiter_look(state->waiter, failure) != 0)
		return -1;
	if (waiter_ready(state->waiter, SLOT_SIGNAL)) {
		state->signal = waiter_take_signal(state->waiter);
		return failure_set(failure, "interrupted by %s", signal_name(state->signal));
	}
	if (waiter_ready(state->waiter, SLOT_TIMER))
		return admission_over(&state->options->admission, failure);
	if (state->control == NULL)
		return 0;
	if (waiter_ready(state->waiter, SLOT_CONTROL) && client_look(state, failure) != 0)
		return -1;
	/* Whoever waits for an answer shall wait on. */
	if (walk->told || clock_monotonic_ns() < walk->begun_ns + WALK_LONG_NS)
		return 0;
	walk->told = true;
	return control_send(state->control, queued_encode(0), failure);
}

/* Fills the set: of a client's own paths, or below a server's directory. */
static int walk_do(struct send_state *state, int root, char *const *paths, unsigned count)
{
	struct files_walk walk = {.state = state, .begun_ns = clock_monotonic_ns()};
	const struct walk_watch watch = {.look = walk_look, .context = &walk};
	struct file_set *set = &state->files->set;
	struct failure *failure = &state->failure;
	uint64_t end_ns = admission_end_ns(&state->options->admission, walk.begun_ns);
	if (end_ns != UINT64_MAX && waiter_arm(state->waiter, end_ns, failure) != 0)
		return -1;
	if (state->control != NULL)
		waiter_watch(state->waiter, SLOT_CONTROL, control_fd(state->control), POLLIN);
	int status = root < 0 ? file_set_fill(set, &watch, paths, count, failure)
			      : file_set_fill_below(set, &watch, root, paths, count, failure);
	waiter_forget(state->waiter, SLOT_CONTROL);
	set->watch = NULL;
	return waiter_disarm(state->waiter, failure) == 0 ? status : -1;
}

int files_prepare(struct send_state *state)
{
	const struct options *options = state->options;
	struct files_session *session = session_create(state);
	if (session == NULL)
		return -1;
	progress_start(&session->line);
	int status = walk_do(state, -1, options->paths, options->path_count);
	state->usage = status != 0 && state->signal == 0;
	if (status != 0)
		return -1;
	return work_prepare(state, session);
}

int files_prepare_below(struct send_state *state, int root, char *const *paths, unsigned count)
{
	struct files_session *session = session_create(state);
	if (session == NULL || walk_do(state, root, paths, count) != 0)
		return -1;
	return work_prepare(state, session);
}

uint64_t files_send_bytes(const struct send_state *state)
{
	uint64_t bytes = state->files->set.bytes;
	return bytes < JSON_INTEGER_MAX ? bytes : JSON_INTEGER_MAX;
}

void files_send_release(struct send_state *state)
{
	struct files_session *session = state->files;
	if (session == NULL)
		return;
	work_destroy(session->work);
	file_set_clear(&session->set);
	free(session->have_bitmap);
	free(session);
	state->files = NULL;
}

static int streams_begin(struct send_state *state)
{
	return streams_work(state->streams, true, files_stream_send, &state->files->sending,
			    &state->failure);
}

static int timer_after(struct send_state *state, uint64_t ns)
{
	return waiter_arm(state->waiter, number_least(clock_monotonic_ns() + ns, state->limit_ns),
			  &state->failure);
}

/* The receiver reads. */
static int ready_await(struct send_state *state)
{
	cJSON *message;
	if (state->peer_reads)
		return 0; /* it has said so already */
	if (session_expect(state->waiter, state->control, MESSAGE_READY, PATIENCE_NS, &message,
			   &state->signal, &state->failure) != 0)
		return -1;
	cJSON_Delete(message);
	return 0;
}

static int barrier_open(struct send_state *state)
{
	return send_open(state) == 0 ? timer_after(state, state->options->stall_ns / 4) : -1;
}

static void progress_draw(struct files_session *session, const struct progress *progress)
{
	const struct progress_view view = {
	    .now_ns = clock_monotonic_ns(),
	    .bytes = progress->bytes + progress->resumed,
	    .total_bytes = session->set.bytes,
	    .files = progress->settled,
	    .total_files = session->set.count,
	};
	/* A receiver that counts beyond what there is shall not move the bar out of its frame. */
	if (view.bytes <= view.total_bytes && !session->quiet)
		progress_show(&session->line, &view);
}

static int progress_take(struct send_state *state, const cJSON *message)
{
	struct progress progress;
	struct progress *last = &state->files->last;
	if (progress_decode(message, &progress, &state->failure) != 0)
		return -1;
	if (progress.bytes != last->bytes || progress.resumed != last->resumed ||
	    progress.settled != last->settled || progress.busy != last->busy)
		state->files->said++;
	*last = progress;
	progress_draw(state->files, &progress);
	return 0;
}

static int have_take(struct send_state *state, const cJSON *message)
{
	struct have have = {.bitmap = state->files->have_bitmap};
	if (have_decode(message, &have, &state->failure) != 0)
		return -1;
	return work_have(state->files->work, &have, &state->failure);
}

static int state_take(struct send_state *state, const cJSON *message)
{
	struct state_view view;
	if (state_decode(message, state->files->set.count, &view, &state->failure) != 0)
		return -1;
	return work_state(state->files->work, &view, &state->failure);
}

static int again_take(struct send_state *state, const cJSON *message)
{
	struct again again;
	if (again_decode(message, &again, &state->failure) != 0)
		return -1;
	return work_again(state->files->work, &again, &state->failure);
}

static int message_take(struct send_state *state, cJSON *message, enum message_type type)
{
	if (type != MESSAGE_FILES_PROGRESS)
		state->files->said++;
	switch (type) {
	case MESSAGE_FILES_HAVE:
		return have_take(state, message);
	case MESSAGE_FILES_STATE:
		return state_take(state, message);
	case MESSAGE_FILES_AGAIN:
		return again_take(state, message);
	case MESSAGE_FILES_PROGRESS:
		return progress_take(state, message);
	case MESSAGE_RESULT:
		send_take_result(state, message);
		return -1; /* that was it */
	default:
		return session_refuse(cJSON_Duplicate(message, true), type, &state->failure);
	}
}

/* Each on_* returns true when the transfer is over, for good or not. */

static bool on_control(void *context)
{
	struct send_state *state = context;
	cJSON *message;
	enum message_type type;
	enum control_status status;
	while ((status = control_take(state->control, &message, &type, &state->failure)) ==
	       CONTROL_MESSAGE) {
		int over = message_take(state, message, type);
		cJSON_Delete(message);
		if (over != 0)
			return true;
	}
	return status != CONTROL_PENDING;
}

static bool on_signal(void *context)
{
	struct send_state *state = context;
	struct failure ignored = {0};
	if (state->signal != 0) {
		(void)waiter_take_signal(state->waiter);
		return true; /* the second one: out, with what is known */
	}
	state->signal = waiter_take_signal(state->waiter);
	state->files->ending = true;
	(void)failure_set(&state->failure, "interrupted by %s (run again to resume)",
			  signal_name(state->signal));
	return control_send(state->control, message_create(MESSAGE_STOP), &ignored) != 0 ||
	       timer_after(state, SEND_STOP_NS) != 0;
}

static bool on_streams(void *context)
{
	struct send_state *state = context;
	unsigned index;
	int error;
	streams_acknowledge(state->streams);
	if (!streams_first_error(state->streams, &index, &error) || state->files->ending)
		return false;
	state->files->ending = true;
	state->files->lost_stream = index;
	state->files->lost_error = error;
	return timer_after(state, SEND_REASON_NS) != 0;
}

static bool on_timer(void *context)
{
	struct send_state *state = context;
	const struct files_session *session = state->files;
	struct stall *stall = &state->stall;
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t limit_ns = state->options->stall_ns;
	if (session->ending)
		return true; /* the control connection had its time to say why */
	if (now_ns >= state->limit_ns)
		return admission_over(&state->options->admission, &state->failure) != 0;
	stall->limit_ns = session->last.busy && limit_ns < BUSY_NS ? BUSY_NS : limit_ns;
	/* Each word is a sign of life, however little moves. */
	uint64_t said = session->said * (stall->least + 1);
	if (!stall_look(stall, streams_moved(state->streams) + said, now_ns))
		return timer_after(state, limit_ns / 4) != 0;
	(void)failure_set(&state->failure,
			  "the receiver took no data for %.3g s (run again to resume)",
			  (double)stall->limit_ns / 1e9);
	return true;
}

static void events_follow(struct send_state *state)
{
	const struct waiter_turn turns[] = {
	    {SLOT_CONTROL, control_fd(state->control), on_control},
	    {SLOT_SIGNAL, -1, on_signal},
	    {SLOT_STREAMS, streams_event_fd(state->streams), on_streams},
	    {SLOT_TIMER, -1, on_timer},
	};
	/* What came with the word to begin is in the decoder, and wakes nobody. */
	if (!on_control(state))
		(void)waiter_follow(state->waiter, turns, sizeof(turns) / sizeof(turns[0]), state,
				    &state->failure);
	if (state->reported)
		return;
	/* The control connection said nothing better. */
	if (state->files->lost_error != 0)
		send_lost(state, state->files->lost_stream, state->files->lost_error);
	(void)failure_set(&state->failure, "the receiver did not report (run again to resume)");
}

int files_send(struct send_state *state)
{
	struct files_session *session = state->files;
	int fd = streams_fd(state->streams, 0);
	if (tune_buffer(fd, TUNE_SEND, &state->sndbuf_bytes, &state->failure) != 0)
		return -1;
	tune_congestion_name(fd, state->congestion);
	if (ready_await(state) == 0 && send_threads_start(state, streams_begin) == 0 &&
	    barrier_open(state) == 0)
		events_follow(state);
	progress_end(&session->line);
	work_end(session->work);
	send_end(state);
	if (session->set.unread > 0)
		(void)failure_set(&state->failure, "%llu files or directories could not be read",
				  (unsigned long long)session->set.unread);
	return state->failure.set ? -1 : 0;
}
