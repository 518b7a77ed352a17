#include "probe/datagram_client.h"

#include "base/clock.h"
#include "base/number.h"
#include "base/output.h"
#include "control/session.h"
#include "probe/datagram.h"
#include "probe/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

/* Datagrams that are due within that time leave in one call, where one by one would be too many. */
#define BATCH_NS    (100 * NS_PER_US)
#define BATCH_MOST  64
#define BATCH_BYTES 65000
/* fq spreads what leaves in one call: at a little more than the rate, headers counted. */
#define HEADER_BYTES 66
#define PACING_MORE  1.05
/* For the last datagrams to come, and the result. */
#define RESULT_NS (30 * NS_PER_S)

/* When datagram `number` of a time of sending is due, exact over days. */
static uint64_t step_ns(const struct options *options, uint64_t number)
{
	return (uint64_t)((long double)number * options->asked.probe.request_bytes * 8e9L /
			  (long double)options->asked.probe.rate_bps);
}

/* How many are due in a time of sending. */
static uint64_t active_count(const struct options *options)
{
	uint64_t active_ns = options->asked.probe.active_ns;
	if (active_ns == 0)
		return UINT64_MAX;
	long double each_ns = (long double)options->asked.probe.request_bytes * 8e9L /
			      (long double)options->asked.probe.rate_bps;
	uint64_t count = (uint64_t)((long double)active_ns / each_ns);
	return step_ns(options, count) < active_ns ? count + 1 : count;
}

static uint64_t due_ns(const struct datagram_run *run, uint64_t number)
{
	const struct probe *probe = &run->link->options->asked.probe;
	return number / run->together * (probe->active_ns + probe->idle_ns) +
	       step_ns(run->link->options, number % run->together);
}

static int socket_open(struct datagram_run *run)
{
	struct address peer;
	struct address local;
	struct send_state *link = run->link;
	struct failure *failure = &link->failure;
	const struct options *options = link->options;
	if (net_peer_address(control_fd(link->control), &peer, failure) != 0 ||
	    net_local_address(control_fd(link->control), &local, failure) != 0)
		return -1;
	net_set_port(&peer, link->grant.data_port);
	net_set_port(&local, 0);
	run->fd = socket(peer.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (run->fd < 0)
		return failure_set_errno(failure, errno, "socket");
	if (options->asked.settings.dscp != DSCP_NONE &&
	    tune_dscp(run->fd, options->asked.settings.dscp, failure) != 0)
		return -1;
	if (tune_window(run->fd, TUNE_SEND, UINT64_C(4) << 20, failure) != 0)
		return -1;
	/* The server counts what comes from the control connection's address only. */
	if (bind(run->fd, (const struct sockaddr *)&local.storage, local.length) != 0 ||
	    connect(run->fd, (const struct sockaddr *)&peer.storage, peer.length) != 0)
		return failure_set_errno(failure, errno, "the datagrams' socket");
	return 0;
}

/* As many as are due within a batch's time, where the kernel can cut them apart itself. */
static int batch_choose(struct datagram_run *run)
{
	const struct options *options = run->link->options;
	int size = (int)options->asked.probe.request_bytes;
	uint64_t each_ns = step_ns(options, 1);
	uint64_t most = number_least(BATCH_MOST, BATCH_BYTES / options->asked.probe.request_bytes);
	uint64_t batch = number_least(BATCH_NS / (each_ns != 0 ? each_ns : 1), most);
	run->batch = 1;
	if (batch <= 1 || setsockopt(run->fd, SOL_UDP, UDP_SEGMENT, &size, sizeof(size)) != 0)
		return 0;
	run->batch = (unsigned)batch;
	/* One by one they leave when their timer says: then fq would only hold them back. */
	double pacing = (double)options->asked.probe.rate_bps * PACING_MORE *
			(options->asked.probe.request_bytes + HEADER_BYTES) /
			options->asked.probe.request_bytes;
	return tune_pacing(run->fd, (uint64_t)pacing, &run->link->failure);
}

static void batch_fill(const struct datagram_run *run, uint8_t *bytes, unsigned count,
		       uint64_t number)
{
	struct datagram datagram = {.number = number, .sent_ns = clock_unix_ns()};
	for (unsigned i = 0; i < count; i++, datagram.number++)
		datagram_encode(&datagram, run->link->secret,
				bytes + (size_t)i * run->link->options->asked.probe.request_bytes);
}

/* What the network makes of it is what is measured. */
static bool is_passing(int error)
{
	return error == EINTR || error == ENOBUFS || error == ECONNREFUSED || error == EAGAIN;
}

static int batches_send(struct datagram_run *run, uint8_t *bytes)
{
	uint64_t number = 0;
	const struct options *options = run->link->options;
	struct gate *pause = gate_create();
	uint64_t start_ns = run->link->start_ns;
	if (pause == NULL)
		return ENOMEM;
	int error = 0;
	while (error == 0 && !atomic_load(&run->stopping)) {
		uint64_t at_ns = due_ns(run, number);
		if (at_ns >= options->asked.duration_ns)
			break;
		if (clock_monotonic_ns() < start_ns + at_ns)
			(void)gate_sleep_until(pause, start_ns + at_ns);
		unsigned count =
		    (unsigned)number_least(run->batch, run->together - number % run->together);
		while (count > 1 && due_ns(run, number + count - 1) >= options->asked.duration_ns)
			count--;
		batch_fill(run, bytes, count, number);
		size_t size = (size_t)count * options->asked.probe.request_bytes;
		if (send(run->fd, bytes, size, 0) == (ssize_t)size) {
			number += count;
			atomic_store(&run->sent, number);
		} else if (!is_passing(errno)) {
			error = errno;
		}
	}
	gate_destroy(pause);
	return error;
}

static void *sender_run(void *argument)
{
	const uint64_t one = 1;
	struct datagram_run *run = argument;
	uint8_t *bytes = calloc(run->batch, run->link->options->asked.probe.request_bytes);
	atomic_store(&run->error, bytes != NULL ? batches_send(run, bytes) : ENOMEM);
	free(bytes);
	if (write(run->event_fd, &one, sizeof(one)) < 0)
		return NULL;
	return NULL;
}

_Static_assert(offsetof(struct datagram_run, link) == 0, "link.h finds it there");

/* Each on_* returns true when sending is over, for good or not. */

static bool on_sent(void *context)
{
	(void)context;
	return true;
}

static int datagrams_send(struct datagram_run *run)
{
	pthread_t thread;
	struct send_state *link = run->link;
	const struct waiter_turn turns[] = {
	    {SLOT_SIGNAL, -1, link_on_signal},
	    {SLOT_STREAMS, run->event_fd, on_sent},
	    {SLOT_CONTROL, control_fd(link->control), link_on_control},
	};
	link->start_unix_ns = clock_unix_ns();
	link->start_ns = clock_monotonic_ns();
	int status = pthread_create(&thread, NULL, sender_run, run);
	if (status != 0)
		return failure_set_errno(&link->failure, status, "cannot start the sender");
	(void)waiter_follow(link->waiter, turns, sizeof(turns) / sizeof(turns[0]), run,
			    &link->failure);
	atomic_store(&run->stopping, true);
	(void)pthread_join(thread, NULL);
	/* Each datagram has its part of the time, the last one too. */
	uint64_t sent = atomic_load(&run->sent);
	uint64_t parts_ns = sent != 0 ? due_ns(run, sent - 1) + step_ns(link->options, 1) : 0;
	uint64_t asked_ns = link->options->asked.duration_ns;
	if (parts_ns < asked_ns && due_ns(run, sent) >= asked_ns)
		parts_ns = asked_ns; /* it rested at the end */
	run->duration_ns = clock_monotonic_ns() - link->start_ns;
	if (parts_ns > run->duration_ns)
		run->duration_ns = parts_ns;
	if (atomic_load(&run->error) != 0)
		(void)failure_set_errno(&link->failure, atomic_load(&run->error),
					"cannot send datagrams of %u bytes",
					link->options->asked.probe.request_bytes);
	return 0;
}

static void result_take(struct datagram_run *run)
{
	int signal = 0;
	cJSON *message;
	struct send_state *link = run->link;
	struct failure ignored = {0};
	struct failure *failure = link->failure.set ? &ignored : &link->failure;
	cJSON *account = message_create(MESSAGE_ACCOUNT);
	json_add_u64(account, "sent", atomic_load(&run->sent));
	if (session_send(link->control, account, failure) != 0 ||
	    session_expect(link->waiter, link->control, MESSAGE_RESULT, RESULT_NS, &message,
			   &signal, failure) != 0)
		return;
	run->told = cJSON_DetachItemFromObjectCaseSensitive(message, "counted");
	cJSON_Delete(message);
	if (!cJSON_IsObject(run->told))
		(void)failure_set(failure, "the server's result is not as it should be");
}

int datagram_run(struct datagram_run *run)
{
	struct send_state *link = run->link;
	run->together = active_count(link->options);
	run->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (run->event_fd < 0)
		return failure_set_errno(&link->failure, errno, "eventfd");
	if (socket_open(run) != 0 || batch_choose(run) != 0)
		return -1;
	struct failure ignored = {0};
	if (route_find(run->fd, &link->route, &ignored) != 0)
		link->route = (struct route){0};
	if (control_send(link->control, message_create(MESSAGE_GO), &link->failure) == 0 &&
	    datagrams_send(run) == 0)
		result_take(run);
	return link->failure.set ? -1 : 0;
}

static uint64_t told_number(const struct datagram_run *run, const char *name)
{
	uint64_t value = 0;
	(void)json_get_u64(run->told, name, 0, JSON_INTEGER_MAX, &value);
	return value;
}

static void losses_add(cJSON *object, const struct datagram_run *run)
{
	static const char *const counted[] = {"received", "duplicates",   "reordered",
					      "late",     "socket_drops", "foreign"};
	bool told = run->told != NULL;
	uint64_t sent = atomic_load(&run->sent);
	uint64_t lost = number_above(sent, told_number(run, "received"));
	json_add_u64(object, "sent", sent);
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		json_add_known(object, counted[i], told_number(run, counted[i]), told);
	json_add_known(object, "lost", lost, told);
	json_add_item(object, "loss_ratio",
		      told && sent != 0 ? cJSON_CreateNumber((double)lost / (double)sent)
					: cJSON_CreateNull());
}

static void told_add(cJSON *object, const struct datagram_run *run, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(run->told, name);
	json_add_item(object, name,
		      item != NULL ? cJSON_Duplicate(item, true) : cJSON_CreateNull());
}

static uint64_t rate_of(const struct datagram_run *run, uint64_t count)
{
	const struct goodput goodput = {.bytes =
					    count * run->link->options->asked.probe.request_bytes,
					.duration_ns = run->duration_ns};
	return goodput_bps(&goodput);
}

/* They may have come for longer than they were sent: then the first one took no time of it. */
static uint64_t received_bps(const struct datagram_run *run)
{
	uint64_t size = run->link->options->asked.probe.request_bytes;
	uint64_t span_ns = told_number(run, "span_ns");
	bool longer = span_ns > run->duration_ns;
	const struct goodput goodput = {.bytes = told_number(run, "received") * size,
					.early_bytes = longer ? size : 0,
					.duration_ns = longer ? span_ns : run->duration_ns};
	return goodput_bps(&goodput);
}

cJSON *datagram_report(const struct datagram_run *run)
{
	const struct send_state *link = run->link;
	const struct options *options = link->options;
	const struct route *route = &link->route;
	cJSON *used;
	cJSON *object = link_report(link, "udp", run->told != NULL, &used);
	json_add_u64(used, "rate_bps", options->asked.probe.rate_bps);
	json_add_u64(used, "size_bytes", options->asked.probe.request_bytes);
	json_add_seconds(used, "time_s", options->asked.duration_ns);
	json_add_seconds(used, "active_s", options->asked.probe.active_ns);
	json_add_seconds(used, "idle_s", options->asked.probe.idle_ns);
	json_add_known(object, "start_unix_ns", link->start_unix_ns, link->start_ns != 0);
	json_add_seconds(object, "duration_s", run->duration_ns);
	losses_add(object, run);
	json_add_u64(object, "sent_bps", rate_of(run, atomic_load(&run->sent)));
	json_add_known(object, "goodput_bps", received_bps(run), run->told != NULL);
	told_add(object, run, "jitter_s");
	told_add(object, run, "jitter_mean_s");
	told_add(object, run, "one_way_delay");
	told_add(object, run, "one_way_delay_reason");
	json_add_known(object, "datagrams_per_call", run->batch, run->batch != 0);
	json_add_text(object, "paced_by",
		      run->batch == 0               ? NULL
		      : route->fq && run->batch > 1 ? "timer and fq"
						    : "timer");
	return object;
}

void datagram_summary(const struct datagram_run *run)
{
	uint64_t sent = atomic_load(&run->sent);
	uint64_t received = told_number(run, "received");
	double jitter_s =
	    cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(run->told, "jitter_s"));
	if (run->told != NULL)
		output_note("%llu datagrams sent, %llu received, %.4f %% lost, %llu reordered, "
			    "jitter %.6f ms",
			    (unsigned long long)sent, (unsigned long long)received,
			    sent != 0 ? (double)number_above(sent, received) * 100 / (double)sent
				      : 0,
			    (unsigned long long)told_number(run, "reordered"), jitter_s * 1e3);
	if (run->link->failure.set)
		output_note("Error: %s", run->link->failure.text);
}

void datagram_release(struct datagram_run *run)
{
	if (run->fd >= 0)
		(void)close(run->fd);
	if (run->event_fd >= 0)
		(void)close(run->event_fd);
	cJSON_Delete(run->told);
}
