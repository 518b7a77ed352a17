// Reads the counters of every link's qdisc at an interval and writes them as CSV, until SIGTERM.
//
// landspeed-linkwatch INTERVAL_NS FILE LINK,DIRECTION,NETNS,IFINDEX[,NETNS,IFINDEX,LINE]...
//
// The last three name one of the lines of a netem that is several (kernel patch 0014): what has
// left that line counts, too.
// One netlink dump a namespace and interval: in the guest a system call costs tens of microseconds,
// so nothing is asked device by device. Columns: time_ns (CLOCK_REALTIME), link, direction, bytes,
// packets (both: left the link's qdisc), drops, backlog_bytes, backlog_packets (both: waiting for
// the line; never what is under way), marks (packets that a discipline marked instead of dropping).
#include "marks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	LINKS_MAX = 2 * 255, /* both directions of the longest path */
	RECEIVE_BYTES = 1 << 16
};

// struct tc_joined_passed of kernel patch 0014.
struct passed {
	uint64_t bytes;
	uint64_t packets;
};

struct counters {
	uint64_t bytes;
	uint64_t packets;
	uint32_t drops;
	uint32_t backlog_bytes;
	uint32_t backlog_packets;
	uint32_t marks;
};

// A namespace that is asked.
struct place {
	char netns[128];
	struct mnl_socket *socket;
};

struct watched {
	unsigned link;
	unsigned direction;
	size_t place;
	int ifindex;
	struct counters counters;
	int is_joined; // and what follows counts, too
	size_t joined_place;
	int joined_ifindex;
	unsigned line;
	struct counters joined;
};

static struct place places[LINKS_MAX];
static size_t places_count;
static struct watched watched[LINKS_MAX];
static size_t watched_count;
static volatile sig_atomic_t stopped;

static void handle_stop(int number)
{
	(void)number;
	stopped = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "landspeed-linkwatch: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct mnl_socket *socket_open(const char *netns)
{
	int descriptor = open(netns, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0 || setns(descriptor, CLONE_NEWNET) != 0)
		die(netns);
	close(descriptor);
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (socket == NULL || mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0)
		die("netlink");
	return socket;
}

// Reads a number and the separator after it.
static unsigned number_take(const char **text, char separator)
{
	char *end;
	errno = 0;
	unsigned long number = strtoul(*text, &end, 10);
	if (end == *text || errno != 0 || number > INT_MAX || *end != separator) {
		fprintf(stderr, "landspeed-linkwatch: '%s': a number and '%c' are wanted there\n",
			*text, separator != '\0' ? separator : '.');
		exit(2);
	}
	*text = separator != '\0' ? end + 1 : end;
	return (unsigned)number;
}

// Reads "NETNS," and gives its place.
static size_t place_take(const char **text)
{
	size_t length = strcspn(*text, ","), i = 0;
	if ((*text)[length] == '\0' || length >= sizeof(places->netns)) {
		fprintf(stderr, "landspeed-linkwatch: '%s' is not NETNS,IFINDEX\n", *text);
		exit(2);
	}
	while (i < places_count &&
	       (strncmp(places[i].netns, *text, length) != 0 || places[i].netns[length] != '\0'))
		i++;
	if (i == LINKS_MAX) {
		fprintf(stderr, "landspeed-linkwatch: more than %d namespaces\n", LINKS_MAX);
		exit(2);
	}
	if (i == places_count) {
		memcpy(places[i].netns, *text, length);
		places[i].socket = socket_open(places[i].netns);
		places_count++;
	}
	*text += length + 1;
	return i;
}

static void watched_add(const char *word)
{
	struct watched *entry = &watched[watched_count];
	if (watched_count == LINKS_MAX) {
		fprintf(stderr, "landspeed-linkwatch: more than %d links\n", LINKS_MAX);
		exit(2);
	}
	entry->link = number_take(&word, ',');
	entry->direction = number_take(&word, ',');
	entry->place = place_take(&word);
	entry->is_joined = strchr(word, ',') != NULL;
	entry->ifindex = (int)number_take(&word, entry->is_joined ? ',' : '\0');
	if (entry->is_joined) {
		entry->joined_place = place_take(&word);
		entry->joined_ifindex = (int)number_take(&word, ',');
		entry->line = number_take(&word, '\0');
	}
	watched_count++;
}

struct statistics {
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	const struct nlattr *own;    // what only this kind of qdisc counts
	const struct passed *passed; // of each line of a netem that is several
	size_t lines;
};

static int statistics_read(const struct nlattr *attribute, void *data)
{
	struct statistics *statistics = data;
	uint16_t type = mnl_attr_get_type(attribute), length = mnl_attr_get_payload_len(attribute);
	const void *payload = mnl_attr_get_payload(attribute);
	if (type == TCA_STATS_BASIC)
		memcpy(&statistics->basic, payload,
		       length < sizeof(statistics->basic) ? length : sizeof(statistics->basic));
	else if (type == TCA_STATS_QUEUE)
		memcpy(&statistics->queue, payload,
		       length < sizeof(statistics->queue) ? length : sizeof(statistics->queue));
	else if (type == TCA_STATS_APP) {
		statistics->own = attribute;
		statistics->passed = payload;
		statistics->lines = length / sizeof(struct passed);
	}
	return MNL_CB_OK;
}

static void joined_read(struct watched *entry, const struct statistics *statistics)
{
	if (entry->line >= statistics->lines)
		return;
	struct passed passed; // where it stands in the message it may not be aligned
	memcpy(&passed, (const char *)statistics->passed + entry->line * sizeof(passed),
	       sizeof(passed));
	entry->joined.bytes = passed.bytes;
	entry->joined.packets = passed.packets;
	entry->joined.drops = entry->line == 0 ? statistics->queue.drops : 0;
}

// The root qdisc counts what left the link and what was dropped; its child, where there is one, is
// the queue.
static int qdisc_read(const struct nlmsghdr *message, void *data)
{
	size_t place = *(const size_t *)data;
	const struct tcmsg *tc = mnl_nlmsg_get_payload(message);
	if (tc->tcm_parent == TC_H_INGRESS)
		return MNL_CB_OK;
	struct statistics statistics = {0};
	const struct nlattr *attribute;
	const char *kind = "";
	mnl_attr_for_each(attribute, message, sizeof(*tc))
	{
		if (mnl_attr_get_type(attribute) == TCA_STATS2)
			mnl_attr_parse_nested(attribute, statistics_read, &statistics);
		else if (mnl_attr_get_type(attribute) == TCA_KIND)
			kind = mnl_attr_get_str(attribute);
	}
	const int several = strcmp(kind, "netem") == 0; // only then are they counts of lines
	for (size_t i = 0; i < watched_count; i++) {
		struct watched *entry = &watched[i];
		if (several && entry->is_joined && entry->joined_place == place &&
		    entry->joined_ifindex == tc->tcm_ifindex)
			joined_read(entry, &statistics);
		if (entry->place != place || entry->ifindex != tc->tcm_ifindex)
			continue;
		if (tc->tcm_parent == TC_H_ROOT) {
			entry->counters.bytes = statistics.basic.bytes;
			entry->counters.packets = statistics.basic.packets;
			entry->counters.drops = statistics.queue.drops;
		} else {
			entry->counters.backlog_bytes = statistics.queue.backlog;
			entry->counters.backlog_packets = statistics.queue.qlen;
			if (statistics.own != NULL && marks_of(kind, statistics.own) != 0)
				entry->counters.marks = marks_of(kind, statistics.own);
		}
	}
	return MNL_CB_OK;
}

static void namespace_read(size_t place, unsigned sequence)
{
	static char buffer[RECEIVE_BYTES];
	struct mnl_socket *socket = places[place].socket;
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	request->nlmsg_type = RTM_GETQDISC;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	request->nlmsg_seq = sequence;
	mnl_nlmsg_put_extra_header(request, sizeof(struct tcmsg));
	if (mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		die("netlink request");
	int state = MNL_CB_OK;
	while (state > MNL_CB_STOP) {
		ssize_t length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			die("netlink answer");
		state = mnl_cb_run(buffer, (size_t)length, sequence, mnl_socket_get_portid(socket),
				   qdisc_read, &place);
	}
	if (state == MNL_CB_ERROR)
		die("netlink answer");
}

static void sample_write(FILE *out, unsigned sequence)
{
	for (size_t i = 0; i < places_count; i++)
		namespace_read(i, sequence);
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		die("clock");
	uint64_t time_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
	for (size_t i = 0; i < watched_count; i++) {
		const struct counters *counters = &watched[i].counters,
				      *joined = &watched[i].joined;
		if (fprintf(out, "%" PRIu64 ",%u,%u,%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%u\n", time_ns,
			    watched[i].link, watched[i].direction, counters->bytes + joined->bytes,
			    counters->packets + joined->packets, counters->drops + joined->drops,
			    counters->backlog_bytes, counters->backlog_packets,
			    counters->marks) < 0)
			die("writing");
	}
	if (fflush(out) != 0) // a run that is killed keeps what was seen
		die("writing");
}

static void timespec_add(struct timespec *time, uint64_t interval_ns)
{
	uint64_t sum = (uint64_t)time->tv_nsec + interval_ns;
	time->tv_sec += (time_t)(sum / 1000000000U);
	time->tv_nsec = (long)(sum % 1000000000U);
}

// Returns at that time, or when the program is to stop.
static void sleep_until(const struct timespec *time)
{
	while (!stopped && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, time, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fputs("usage: landspeed-linkwatch INTERVAL_NS FILE "
		      "LINK,DIRECTION,NETNS,IFINDEX[,NETNS,IFINDEX,LINE]...\n",
		      stderr);
		return 2;
	}
	char *end;
	uint64_t interval_ns = strtoull(argv[1], &end, 10);
	if (*end != '\0' || interval_ns == 0) {
		fprintf(
		    stderr,
		    "landspeed-linkwatch: interval '%s' is not a number of nanoseconds above 0\n",
		    argv[1]);
		return 2;
	}
	FILE *out = fopen(argv[2], "we");
	if (out == NULL)
		die(argv[2]);
	for (int i = 3; i < argc; i++)
		watched_add(argv[i]);
	struct sigaction action = {.sa_handler = handle_stop}; // no SA_RESTART: the sleep must end
	if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGINT, &action, NULL) != 0)
		die("sigaction");
	fputs("time_ns,link,direction,bytes,packets,drops,backlog_bytes,backlog_packets,marks\n",
	      out);
	struct timespec next;
	if (clock_gettime(CLOCK_MONOTONIC, &next) != 0)
		die("clock");
	// At whole intervals of the clock: how long this program took to start is then in no
	// sample.
	uint64_t now_ns = (uint64_t)next.tv_sec * 1000000000 + (uint64_t)next.tv_nsec;
	timespec_add(&next, interval_ns - now_ns % interval_ns);
	sleep_until(&next);
	for (unsigned sequence = 1; !stopped; sequence++) {
		sample_write(out, sequence);
		timespec_add(&next, interval_ns);
		sleep_until(&next);
	}
	sample_write(out, 0);
	if (fclose(out) != 0)
		die(argv[2]);
	return 0;
}
