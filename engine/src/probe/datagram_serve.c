#include "base/clock.h"
#include "base/number.h"
#include "control/admission.h"
#include "control/session.h"
#include "probe/datagram.h"
#include "probe/histogram.h"
#include "probe/serve.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef SO_MEMINFO
#define SO_MEMINFO 55
#endif
#define BATCH  64
#define BUFFER (UINT64_C(32) << 20)
/* Once the client has said how many there were: the others are lost when nothing comes for that. */
#define QUIET_NS      NS_PER_S
#define QUIET_MOST_NS (10 * NS_PER_S)
#define READS_MOST    64
/* Of the delays, so many quantiles at even steps: what a receiver that plays sound chooses from. */
#define STEPS 200

struct counting {
	struct receive_state *state;
	struct address peer; /* of the control connection */
	int fd;
	struct arrivals arrivals;
	struct histogram *delays; /* NULL: the ends have different clocks */
	uint64_t foreign;         /* of somebody else, or of no session */
	uint64_t bytes;
	uint64_t first_ns; /* CLOCK_REALTIME of the first and the last arrival; 0: none */
	uint64_t last_ns;
	uint64_t moved;     /* whatever came, for the stall */
	FILE *series;       /* bytes that had come, at each interval; NULL: not wanted */
	uint64_t series_ns; /* CLOCK_REALTIME of its next row */
	bool ended;         /* the client has said how many it sent */
	uint64_t sent;
	uint64_t quiet_ns; /* when it is over, unless more comes */
	uint64_t end_ns;
	uint64_t limit_ns; /* whatever the client does */
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	struct sockaddr_storage from[BATCH];
	uint8_t heads[BATCH][DATAGRAM_HEAD_BYTES];
	uint8_t controls[BATCH][CMSG_SPACE(sizeof(struct timespec))];
};

/*
 * At the number of the server's port, so that a firewall has one to open; at any free one while
 * another session has that.
 */
static int socket_bind(struct counting *counting, struct address *address)
{
	struct receive_state *state = counting->state;
	const struct sockaddr *name = (const struct sockaddr *)&address->storage;
	uint16_t wanted = state->options->data_port;
	if (wanted != 0)
		net_set_port(address, wanted);
	int status = bind(counting->fd, name, address->length);
	if (status != 0 && errno == EADDRINUSE && wanted == 0) {
		net_set_port(address, 0);
		status = bind(counting->fd, name, address->length);
	} else if (status == 0 && wanted == 0) {
		return 0; /* it is the one that the client knows */
	}
	if (status != 0)
		return failure_set_errno(&state->failure, errno, "the datagrams' socket");
	if (net_local_address(counting->fd, address, &state->failure) != 0)
		return -1;
	state->grant.data_port = net_port(address);
	return 0;
}

static int socket_open(struct counting *counting)
{
	int yes = 1;
	struct address address;
	struct receive_state *state = counting->state;
	struct failure *failure = &state->failure;
	if (net_local_address(control_fd(state->control), &address, failure) != 0 ||
	    net_peer_address(control_fd(state->control), &counting->peer, failure) != 0)
		return -1;
	counting->fd =
	    socket(address.storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (counting->fd < 0)
		return failure_set_errno(failure, errno, "socket");
	if (socket_bind(counting, &address) != 0)
		return -1;
	/* The kernel's time of arrival: ours would be that of the processor's turn. */
	if (setsockopt(counting->fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof(yes)) != 0)
		return failure_set_errno(failure, errno, "setsockopt SO_TIMESTAMPNS");
	if (tune_window(counting->fd, TUNE_RECEIVE, BUFFER, failure) != 0)
		return -1;
	return tune_buffer(counting->fd, TUNE_RECEIVE, &state->grant.rcvbuf_bytes, failure);
}

static uint64_t came_ns(struct msghdr *message)
{
	struct timespec time;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL;
	     part = CMSG_NXTHDR(message, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&time, CMSG_DATA(part), sizeof(time));
		return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
	}
	return clock_unix_ns();
}

/* What came, each once. */
static unsigned long long bytes_once(const struct counting *counting)
{
	return counting->arrivals.received * counting->state->request.probe.request_bytes;
}

/* Bytes before a time, row by row; a disk that is full is the host's to tell. */
static void series_write(struct counting *counting, uint64_t until_ns)
{
	for (; counting->series != NULL && counting->series_ns <= until_ns;
	     counting->series_ns += counting->state->options->interval_ns)
		(void)fprintf(counting->series, "%llu,0,%llu\n",
			      (unsigned long long)counting->series_ns, bytes_once(counting));
}

static int series_open(struct counting *counting)
{
	struct receive_state *state = counting->state;
	const char *path = state->options->samples;
	counting->series_ns = clock_unix_ns();
	if (path == NULL)
		return 0;
	counting->series = fopen(path, "we");
	if (counting->series == NULL)
		return failure_set_errno(&state->failure, errno, "cannot write samples to '%s'",
					 path);
	(void)fputs("time_ns,stream,bytes\n", counting->series);
	return 0;
}

/* The last row, at the last arrival. */
static void series_close(struct counting *counting)
{
	if (counting->series == NULL)
		return;
	if (counting->last_ns != 0)
		(void)fprintf(counting->series, "%llu,0,%llu\n",
			      (unsigned long long)counting->last_ns, bytes_once(counting));
	(void)fclose(counting->series);
}

static void datagram_take(struct counting *counting, unsigned index, uint32_t count)
{
	struct datagram datagram;
	struct msghdr *message = &counting->messages[index].msg_hdr;
	struct address from = {.length = message->msg_namelen};
	memcpy(&from.storage, &counting->from[index], sizeof(from.storage));
	if (!net_same_host(&from, &counting->peer) ||
	    !datagram_decode(counting->heads[index],
			     count < DATAGRAM_HEAD_BYTES ? count : DATAGRAM_HEAD_BYTES,
			     counting->state->secret, &datagram)) {
		counting->foreign++;
		return;
	}
	uint64_t at_ns = came_ns(message);
	series_write(counting, at_ns - 1);
	counting->moved++;
	counting->bytes += count;
	if (counting->first_ns == 0)
		counting->first_ns = at_ns;
	counting->last_ns = at_ns;
	arrivals_take(&counting->arrivals, &datagram, at_ns);
	if (counting->delays != NULL)
		histogram_add(counting->delays, number_above(at_ns, datagram.sent_ns));
}

static void batch_prepare(struct counting *counting)
{
	for (unsigned i = 0; i < BATCH; i++) {
		counting->parts[i] =
		    (struct iovec){.iov_base = counting->heads[i], .iov_len = DATAGRAM_HEAD_BYTES};
		counting->messages[i].msg_hdr =
		    (struct msghdr){.msg_name = &counting->from[i],
				    .msg_namelen = sizeof(counting->from[i]),
				    .msg_iov = &counting->parts[i],
				    .msg_iovlen = 1,
				    .msg_control = counting->controls[i],
				    .msg_controllen = sizeof(counting->controls[i])};
	}
}

_Static_assert(offsetof(struct counting, state) == 0, "serve.h finds it there");

/* Each on_* returns true when counting is over, for good or not. */

static bool is_over(const struct counting *counting)
{
	return counting->ended && counting->arrivals.received >= counting->sent;
}

static int timer_choose(struct counting *counting)
{
	struct receive_state *state = counting->state;
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t at_ns =
	    counting->ended ? counting->quiet_ns : stall_look_ns(&state->stall, now_ns);
	return waiter_arm(state->waiter, number_least(at_ns, counting->end_ns), &state->failure);
}

static bool on_data(void *context)
{
	struct counting *counting = context;
	/* The others have their turn too, however fast they come. */
	for (unsigned i = 0; i < READS_MOST; i++) {
		batch_prepare(counting);
		int got = recvmmsg(counting->fd, counting->messages, BATCH, MSG_TRUNC, NULL);
		for (int j = 0; j < got; j++)
			datagram_take(counting, (unsigned)j, counting->messages[j].msg_len);
		if (got < BATCH)
			break;
	}
	if (counting->ended)
		counting->quiet_ns = clock_monotonic_ns() + QUIET_NS;
	return is_over(counting) || timer_choose(counting) != 0;
}

static bool end_take(struct counting *counting, const cJSON *message)
{
	struct receive_state *state = counting->state;
	if (!json_get_u64(message, "sent", 0, JSON_INTEGER_MAX, &counting->sent))
		return failure_set(&state->failure, "account: sent must be an integer") != 0;
	counting->ended = true;
	uint64_t now_ns = clock_monotonic_ns();
	counting->quiet_ns = now_ns + QUIET_NS;
	counting->end_ns = number_least(now_ns + QUIET_MOST_NS, counting->limit_ns);
	return is_over(counting) || timer_choose(counting) != 0;
}

static bool on_control(void *context)
{
	struct counting *counting = context;
	cJSON *message;
	enum message_type type;
	enum control_status status;
	struct receive_state *state = counting->state;
	/* Those that came together are in the decoder: the socket says nothing of them. */
	while ((status = control_take(state->control, &message, &type, &state->failure)) ==
	       CONTROL_MESSAGE) {
		bool over = false;
		if (type == MESSAGE_ACCOUNT && !counting->ended)
			over = end_take(counting, message);
		else if (type != MESSAGE_GO)
			return session_refuse(message, type, &state->failure) != 0;
		cJSON_Delete(message);
		if (over)
			return true;
	}
	return status != CONTROL_PENDING;
}

static bool on_timer(void *context)
{
	struct counting *counting = context;
	struct receive_state *state = counting->state;
	uint64_t now_ns = clock_monotonic_ns();
	if (counting->ended)
		return now_ns >= number_least(counting->quiet_ns, counting->end_ns) ||
		       timer_choose(counting) != 0;
	if (now_ns >= counting->end_ns)
		(void)failure_set(&state->failure, "the client does not end in its time");
	else if (stall_look(&state->stall, counting->moved, now_ns))
		(void)failure_set(&state->failure, "no datagram came for %.3g s",
				  (double)state->options->stall_ns / 1e9);
	return state->failure.set || timer_choose(counting) != 0;
}

static void events_follow(struct counting *counting)
{
	struct receive_state *state = counting->state;
	/* What has come counts before the word that it was all. */
	const struct waiter_turn turns[] = {
	    {SLOT_SIGNAL, -1, serve_on_signal},
	    {SLOT_TIMER, -1, on_timer},
	    {SLOT_CONTROL, control_fd(state->control), on_control},
	    {SLOT_DATA, counting->fd, on_data},
	};
	uint64_t now_ns = clock_monotonic_ns();
	stall_start(&state->stall, state->options->stall_ns, 0, now_ns);
	counting->limit_ns = admission_end_ns(&state->options->admission, now_ns);
	counting->end_ns =
	    number_least(now_ns + state->request.duration_ns + PATIENCE_NS, counting->limit_ns);
	state->start_unix_ns = clock_unix_ns();
	if (timer_choose(counting) == 0)
		(void)waiter_follow(state->waiter, turns, sizeof(turns) / sizeof(turns[0]),
				    counting, &state->failure);
	(void)waiter_disarm(state->waiter, &state->failure);
}

/* What the socket had no room for: this host's losses, not the network's. */
static uint64_t socket_drops(int fd)
{
	uint32_t words[SK_MEMINFO_VARS] = {0};
	socklen_t length = sizeof(words);
	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, words, &length) != 0)
		return 0;
	return words[SK_MEMINFO_DROPS];
}

static cJSON *delays_json(const struct histogram *delays)
{
	cJSON *object = histogram_json(delays);
	cJSON *steps = cJSON_CreateArray();
	for (unsigned i = 1; i <= STEPS && histogram_count(delays) != 0; i++)
		(void)cJSON_AddItemToArray(
		    steps, cJSON_CreateNumber(
			       (double)histogram_quantile(delays, (double)i / STEPS) / 1e9));
	json_add_item(object, "steps_s", steps);
	return object;
}

static cJSON *counted_json(const struct counting *counting)
{
	const struct arrivals *arrivals = &counting->arrivals;
	uint64_t changes = number_above(arrivals->received, 1);
	cJSON *object = cJSON_CreateObject();
	json_add_u64(object, "received", arrivals->received);
	json_add_u64(object, "duplicates", arrivals->duplicates);
	json_add_u64(object, "reordered", arrivals->reordered);
	json_add_u64(object, "late", arrivals->late);
	json_add_u64(object, "foreign", counting->foreign);
	json_add_u64(object, "socket_drops", socket_drops(counting->fd));
	json_add_u64(object, "bytes", counting->bytes);
	json_add_u64(object, "span_ns", number_above(counting->last_ns, counting->first_ns));
	json_add_seconds(object, "jitter_s", (uint64_t)(arrivals->jitter_ns + 0.5));
	json_add_seconds(object, "jitter_mean_s",
			 changes != 0 ? (uint64_t)(arrivals->changes_ns / (double)changes + 0.5)
				      : 0);
	json_add_item(object, "one_way_delay",
		      counting->delays != NULL ? delays_json(counting->delays)
					       : cJSON_CreateNull());
	json_add_text(object, "one_way_delay_reason",
		      counting->delays != NULL
			  ? NULL
			  : "the ends do not share a clock: how far theirs are "
			    "apart nobody has measured");
	return object;
}

static int counting_run(struct counting *counting)
{
	char clock[CLOCK_NAME_BYTES];
	struct receive_state *state = counting->state;
	receive_secret_choose(state);
	if (socket_open(counting) != 0)
		return -1;
	clock_name(clock, sizeof(clock));
	if (clock[0] != '\0' && strcmp(clock, state->request.probe.clock) == 0)
		counting->delays = histogram_create();
	if (series_open(counting) != 0 ||
	    control_send(state->control, grant_encode(&state->grant), &state->failure) != 0)
		return -1;
	events_follow(counting);
	series_close(counting);
	state->report.bytes = counting->bytes;
	state->report.complete = !state->failure.set;
	if (state->failure.set)
		return -1;
	state->answer = message_create(MESSAGE_RESULT);
	json_add_item(state->answer, "counted", counted_json(counting));
	return 0;
}

int datagram_serve(struct receive_state *state)
{
	struct counting *counting = calloc(1, sizeof(*counting));
	if (counting == NULL)
		return failure_set(&state->failure, "out of memory");
	counting->state = state;
	counting->fd = -1;
	int status = counting_run(counting);
	if (counting->fd >= 0)
		(void)close(counting->fd);
	histogram_destroy(counting->delays);
	free(counting);
	return status;
}
