#include "probe/trip_client.h"

#include "base/clock.h"
#include "base/number.h"
#include "base/output.h"
#include "base/wire.h"
#include "control/session.h"
#include "probe/link.h"
#include "probe/trips.h"
#include "transfer/stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* The server has this long to say that it has seen the end. */
#define ANSWER_NS (10 * NS_PER_S)

struct trip_stream {
	struct trip_run *run;
	struct histogram *times;
	uint64_t number;       /* of the next new connection; from 1 on */
	pthread_mutex_t mutex; /* of fd */
	int fd;                /* the new connection that is open; -1: none */
};

static int own_set(struct trip_stream *own, int fd)
{
	(void)pthread_mutex_lock(&own->mutex);
	int before = own->fd;
	own->fd = fd;
	(void)pthread_mutex_unlock(&own->mutex);
	return before;
}

/* A call that never comes back would hang the run. */
static bool patience_set(int fd, uint64_t ns)
{
	const struct timeval patience = {.tv_sec = (time_t)(ns / NS_PER_S),
					 .tv_usec = (suseconds_t)(ns % NS_PER_S / NS_PER_US)};
	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0;
}

/* A new connection, with its hello behind the handshake. 0 or a positive errno. */
static int fresh_connect(struct stream *stream, struct trip_stream *own, int *fd)
{
	struct address address;
	struct address local;
	struct hello hello = {.stream = stream->index};
	struct failure failure = {0};
	uint8_t nonce[NONCE_BYTES];
	uint8_t bytes[TRIP_HELLO_BYTES];
	const struct send_state *link = own->run->link;
	int control = control_fd(link->control);
	if (net_peer_address(control, &address, &failure) != 0 ||
	    net_local_address(control, &local, &failure) != 0)
		return errno;
	net_set_port(&address, link->grant.data_port);
	*fd = net_socket(&address, &failure);
	if (*fd < 0)
		return errno;
	(void)own_set(own, *fd);
	if (net_bind_local(*fd, &local, &failure) != 0 ||
	    net_set_blocking(*fd, true, &failure) != 0 || net_no_delay(*fd, &failure) != 0 ||
	    !patience_set(*fd, link->options->stall_ns) ||
	    (link->options->asked.settings.dscp != DSCP_NONE &&
	     tune_dscp(*fd, link->options->asked.settings.dscp, &failure) != 0) ||
	    connect(*fd, (const struct sockaddr *)&address.storage, address.length) != 0)
		return errno;
	trip_nonce(own->number, nonce);
	hello.session = link->grant.session;
	hello_prove(&hello, link->secret, nonce);
	hello_encode(&hello, bytes);
	(void)wire_put_u64(bytes + HELLO_BYTES, own->number++);
	return send(*fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_MORE) == (ssize_t)sizeof(bytes)
		   ? 0
		   : EIO;
}

static int trip_make(struct stream *stream, struct trip_stream *own)
{
	int fd = stream->fd;
	const struct options *options = own->run->link->options;
	int error = options->asked.probe.fresh ? fresh_connect(stream, own, &fd) : 0;
	if (error == 0)
		error = trip_send(fd, options->asked.probe.request_bytes);
	/* The server challenges whoever comes, and does not wait for this one's answer to it. */
	if (error == 0)
		error = trip_receive(
		    fd, options->asked.probe.response_bytes +
			    (options->asked.probe.fresh ? (uint64_t)CHALLENGE_BYTES : 0));
	if (options->asked.probe.fresh && fd >= 0) {
		(void)own_set(own, -1);
		/* With a reset: nothing is left of it that would hold its port for a minute. */
		net_abort(fd);
	}
	return error;
}

static int trips_make(struct stream *stream, void *context)
{
	uint64_t start_ns;
	struct trip_run *run = context;
	struct trip_stream *own = &run->streams[stream->index];
	const struct options *options = run->link->options;
	if (!gate_wait(streams_gate(stream->set), &start_ns))
		return 0;
	uint64_t end_ns = start_ns + options->asked.duration_ns;
	uint64_t before_ns = clock_monotonic_ns();
	while (!stream_stopping(stream) && before_ns < end_ns) {
		int error = trip_make(stream, own);
		uint64_t now_ns = clock_monotonic_ns();
		if (stream_stopping(stream) || now_ns > end_ns)
			return 0;
		if (error != 0)
			return error == EAGAIN ? ETIMEDOUT : error;
		histogram_add(own->times, now_ns - before_ns);
		(void)atomic_fetch_add(&stream->bytes,
				       (uint64_t)options->asked.probe.request_bytes +
					   options->asked.probe.response_bytes);
		before_ns = now_ns;
	}
	return 0;
}

static void trips_stop(struct trip_run *run)
{
	struct send_state *link = run->link;
	streams_break(link->streams);
	for (unsigned i = 0; i < link->options->asked.streams; i++) {
		struct trip_stream *own = &run->streams[i];
		(void)pthread_mutex_lock(&own->mutex);
		if (own->fd >= 0)
			(void)shutdown(own->fd, SHUT_RDWR);
		(void)pthread_mutex_unlock(&own->mutex);
	}
	streams_join(link->streams);
}

_Static_assert(offsetof(struct trip_run, link) == 0, "link.h finds it there");

/* Each on_* returns true when measuring is over, for good or not. */

static bool on_streams(void *context)
{
	unsigned index;
	int error;
	struct trip_run *run = context;
	struct send_state *link = run->link;
	streams_acknowledge(link->streams);
	if (streams_first_error(link->streams, &index, &error))
		(void)failure_set_errno(&link->failure, error, "stream %u was lost", index);
	return link->failure.set || streams_all_finished(link->streams);
}

static int timer_choose(struct trip_run *run)
{
	struct send_state *link = run->link;
	uint64_t end_ns = link->start_ns + link->options->asked.duration_ns;
	return waiter_arm(link->waiter,
			  number_least(end_ns, stall_look_ns(&link->stall, clock_monotonic_ns())),
			  &link->failure);
}

static bool on_timer(void *context)
{
	struct trip_run *run = context;
	struct send_state *link = run->link;
	uint64_t now_ns = clock_monotonic_ns();
	if (now_ns >= link->start_ns + link->options->asked.duration_ns)
		return true;
	if (stall_look(&link->stall, streams_moved(link->streams), now_ns))
		(void)failure_set(&link->failure, "no answer came for %.3g s",
				  (double)link->options->stall_ns / 1e9);
	return link->failure.set || timer_choose(run) != 0;
}

static void events_follow(struct trip_run *run)
{
	struct send_state *link = run->link;
	const struct waiter_turn turns[] = {
	    {SLOT_TIMER, -1, on_timer},
	    {SLOT_SIGNAL, -1, link_on_signal},
	    {SLOT_STREAMS, streams_event_fd(link->streams), on_streams},
	    {SLOT_CONTROL, control_fd(link->control), link_on_control},
	};
	link->start_unix_ns = clock_unix_ns();
	link->start_ns = clock_monotonic_ns();
	stall_start(&link->stall, link->options->stall_ns, streams_moved(link->streams),
		    link->start_ns);
	(void)gate_open(streams_gate(link->streams), link->start_ns);
	if (timer_choose(run) == 0)
		(void)waiter_follow(link->waiter, turns, sizeof(turns) / sizeof(turns[0]), run,
				    &link->failure);
	run->duration_ns =
	    number_least(clock_monotonic_ns() - link->start_ns, link->options->asked.duration_ns);
	(void)waiter_disarm(link->waiter, &link->failure);
}

/* The server heard of the end, and says what it answered. */
static void end_tell(struct trip_run *run)
{
	int signal = 0;
	cJSON *message;
	struct send_state *link = run->link;
	struct failure ignored = {0};
	struct failure *failure = link->failure.set ? &ignored : &link->failure;
	if (session_send(link->control, message_create(MESSAGE_STOP), failure) != 0 ||
	    session_expect(link->waiter, link->control, MESSAGE_RESULT, ANSWER_NS, &message,
			   &signal, failure) != 0)
		return;
	run->told = json_get_u64(message, "answered", 0, JSON_INTEGER_MAX, &run->answered);
	cJSON_Delete(message);
}

static int streams_prepare(struct trip_run *run)
{
	struct send_state *link = run->link;
	run->streams = calloc(link->options->asked.streams, sizeof(run->streams[0]));
	for (unsigned i = 0; run->streams != NULL && i < link->options->asked.streams; i++) {
		struct trip_stream *own = &run->streams[i];
		*own = (struct trip_stream){.run = run, .number = 1, .fd = -1};
		(void)pthread_mutex_init(&own->mutex, NULL);
		own->times = histogram_create();
		if (own->times == NULL)
			return failure_set(&link->failure, "out of memory");
		if (net_no_delay(streams_fd(link->streams, i), &link->failure) != 0)
			return -1;
	}
	return run->streams != NULL ? 0 : failure_set(&link->failure, "out of memory");
}

int trip_run(struct trip_run *run)
{
	cJSON *message;
	struct send_state *link = run->link;
	if (streams_prepare(run) != 0 ||
	    session_expect(link->waiter, link->control, MESSAGE_READY, PATIENCE_NS, &message,
			   &link->signal, &link->failure) != 0)
		return -1;
	cJSON_Delete(message);
	if (streams_work(link->streams, false, trips_make, run, &link->failure) == 0)
		events_follow(run);
	trips_stop(run);
	end_tell(run);
	return link->failure.set ? -1 : 0;
}

static struct histogram *times_all(const struct trip_run *run)
{
	struct histogram *all = histogram_create();
	for (unsigned i = 0;
	     all != NULL && run->streams != NULL && i < run->link->options->asked.streams; i++) {
		if (run->streams[i].times != NULL)
			histogram_merge(all, run->streams[i].times);
	}
	return all;
}

static double per_second(uint64_t count, uint64_t ns)
{
	return ns != 0 ? (double)count * 1e9 / (double)ns : 0;
}

cJSON *trip_report(const struct trip_run *run)
{
	const struct send_state *link = run->link;
	const struct options *options = link->options;
	struct histogram *all = times_all(run);
	uint64_t count = all != NULL ? histogram_count(all) : 0;
	cJSON *used;
	cJSON *object = link_report(link, "rr", run->told, &used);
	json_add_u64(used, "streams", options->asked.streams);
	json_add_seconds(used, "time_s", options->asked.duration_ns);
	json_add_u64(used, "request_bytes", options->asked.probe.request_bytes);
	json_add_u64(used, "response_bytes", options->asked.probe.response_bytes);
	json_add_bool(used, "connect", options->asked.probe.fresh);
	json_add_known(object, "start_unix_ns", link->start_unix_ns, link->start_ns != 0);
	json_add_seconds(object, "duration_s", run->duration_ns);
	json_add_u64(object, "round_trips", count);
	json_add_known(object, "answered", run->answered, run->told);
	json_add_item(object, "round_trips_per_s",
		      cJSON_CreateNumber(per_second(count, run->duration_ns)));
	json_add_item(object, "round_trip", all != NULL ? histogram_json(all) : cJSON_CreateNull());
	cJSON *streams = json_add_array(object, "streams");
	for (unsigned i = 0; link->start_ns != 0 && i < options->asked.streams; i++)
		(void)cJSON_AddItemToArray(streams, histogram_json(run->streams[i].times));
	histogram_destroy(all);
	return object;
}

void trip_summary(const struct trip_run *run)
{
	struct histogram *all = times_all(run);
	uint64_t count = all != NULL ? histogram_count(all) : 0;
	if (count != 0)
		output_note("%llu round trips in %.3f s, %.1f a second: half within %.6f ms, 99 %% "
			    "within %.6f ms",
			    (unsigned long long)count, (double)run->duration_ns / 1e9,
			    per_second(count, run->duration_ns),
			    (double)histogram_quantile(all, 0.5) / 1e6,
			    (double)histogram_quantile(all, 0.99) / 1e6);
	if (run->link->failure.set)
		output_note("Error: %s", run->link->failure.text);
	histogram_destroy(all);
}

void trip_release(struct trip_run *run)
{
	for (unsigned i = 0; run->streams != NULL && i < run->link->options->asked.streams; i++) {
		histogram_destroy(run->streams[i].times);
		(void)pthread_mutex_destroy(&run->streams[i].mutex);
	}
	free(run->streams);
	run->streams = NULL;
}
