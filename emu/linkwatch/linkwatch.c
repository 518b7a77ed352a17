// Reads the counters of every link's qdisc at an interval and writes them as CSV, until SIGTERM.
//
// landspeed-linkwatch INTERVAL_NS FILE LINK,DIRECTION,NETNS,IFINDEX...
//
// One netlink dump a namespace and interval: in the guest a system call costs tens of microseconds,
// so nothing is asked device by device. Columns: time_ns (CLOCK_REALTIME), link, direction, bytes,
// packets (both: left the link's qdisc), drops, backlog_bytes, backlog_packets (both: waiting for
// the line; never what is under way).
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

enum { LINKS_MAX = 256, RECEIVE_BYTES = 1 << 16 };

struct counters {
	uint64_t bytes;
	uint32_t packets;
	uint32_t drops;
	uint32_t backlog_bytes;
	uint32_t backlog_packets;
};

struct watched {
	unsigned link;
	unsigned direction;
	char netns[128];
	int ifindex;
	struct mnl_socket *socket; // shared by all links of a namespace
	struct counters counters;
};

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

static void watched_add(const char *word)
{
	struct watched *entry = &watched[watched_count];
	if (watched_count == LINKS_MAX) {
		fprintf(stderr, "landspeed-linkwatch: more than %d links\n", LINKS_MAX);
		exit(2);
	}
	entry->link = number_take(&word, ',');
	entry->direction = number_take(&word, ',');
	size_t length = strcspn(word, ",");
	if (word[length] == '\0' || length >= sizeof(entry->netns)) {
		fprintf(stderr, "landspeed-linkwatch: '%s' is not NETNS,IFINDEX\n", word);
		exit(2);
	}
	memcpy(entry->netns, word, length);
	word += length + 1;
	entry->ifindex = (int)number_take(&word, '\0');
	for (size_t i = 0; i < watched_count && entry->socket == NULL; i++)
		if (strcmp(watched[i].netns, entry->netns) == 0)
			entry->socket = watched[i].socket;
	if (entry->socket == NULL)
		entry->socket = socket_open(entry->netns);
	watched_count++;
}

struct statistics {
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
};

static int statistics_read(const struct nlattr *attribute, void *data)
{
	struct statistics *statistics = data;
	uint16_t type = mnl_attr_get_type(attribute), length = mnl_attr_get_payload_len(attribute);
	if (type == TCA_STATS_BASIC)
		memcpy(&statistics->basic, mnl_attr_get_payload(attribute),
		       length < sizeof(statistics->basic) ? length : sizeof(statistics->basic));
	else if (type == TCA_STATS_QUEUE)
		memcpy(&statistics->queue, mnl_attr_get_payload(attribute),
		       length < sizeof(statistics->queue) ? length : sizeof(statistics->queue));
	return MNL_CB_OK;
}

// The root qdisc counts what left the link and what was dropped; its child, where there is one, is
// the queue.
static int qdisc_read(const struct nlmsghdr *message, void *data)
{
	struct mnl_socket *socket = data;
	const struct tcmsg *tc = mnl_nlmsg_get_payload(message);
	struct watched *entry = NULL;
	for (size_t i = 0; i < watched_count; i++)
		if (watched[i].socket == socket && watched[i].ifindex == tc->tcm_ifindex)
			entry = &watched[i];
	if (entry == NULL || tc->tcm_parent == TC_H_INGRESS)
		return MNL_CB_OK;
	struct statistics statistics = {0};
	const struct nlattr *attribute;
	mnl_attr_for_each(attribute, message,
			  sizeof(*tc)) if (mnl_attr_get_type(attribute) == TCA_STATS2)
	    mnl_attr_parse_nested(attribute, statistics_read, &statistics);
	if (tc->tcm_parent == TC_H_ROOT) {
		entry->counters.bytes = statistics.basic.bytes;
		entry->counters.packets = statistics.basic.packets;
		entry->counters.drops = statistics.queue.drops;
	} else {
		entry->counters.backlog_bytes = statistics.queue.backlog;
		entry->counters.backlog_packets = statistics.queue.qlen;
	}
	return MNL_CB_OK;
}

static void namespace_read(struct mnl_socket *socket, unsigned sequence)
{
	static char buffer[RECEIVE_BYTES];
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
				   qdisc_read, socket);
	}
	if (state == MNL_CB_ERROR)
		die("netlink answer");
}

static void sample_write(FILE *out, unsigned sequence)
{
	for (size_t i = 0; i < watched_count; i++) {
		int seen = 0;
		for (size_t j = 0; j < i && !seen; j++)
			seen = watched[j].socket == watched[i].socket;
		if (!seen)
			namespace_read(watched[i].socket, sequence);
	}
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		die("clock");
	uint64_t time_ns = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
	for (size_t i = 0; i < watched_count; i++) {
		const struct counters *counters = &watched[i].counters;
		if (fprintf(out, "%" PRIu64 ",%u,%u,%" PRIu64 ",%u,%u,%u,%u\n", time_ns,
			    watched[i].link, watched[i].direction, counters->bytes,
			    counters->packets, counters->drops, counters->backlog_bytes,
			    counters->backlog_packets) < 0)
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

int main(int argc, char **argv)
{
	if (argc < 4) {
		fputs(
		    "usage: landspeed-linkwatch INTERVAL_NS FILE LINK,DIRECTION,NETNS,IFINDEX...\n",
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
	fputs("time_ns,link,direction,bytes,packets,drops,backlog_bytes,backlog_packets\n", out);
	struct timespec next;
	if (clock_gettime(CLOCK_MONOTONIC, &next) != 0)
		die("clock");
	for (unsigned sequence = 1; !stopped; sequence++) {
		sample_write(out, sequence);
		timespec_add(&next, interval_ns);
		while (!stopped &&
		       clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			;
	}
	sample_write(out, 0);
	if (fclose(out) != 0)
		die(argv[2]);
	return 0;
}
