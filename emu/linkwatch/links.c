#include "links.h"
#include "marks.h"
#include "watch.h"

#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

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
// Reads a number and the separator after it.
static unsigned number_take(const char **text, char separator)
{
	char *end;
	errno = 0;
	unsigned long number = strtoul(*text, &end, 10);
	if (end == *text || errno != 0 || number > INT_MAX || *end != separator) {
		fprintf(stderr, "%s: '%s': a number and '%c' are wanted there\n",
			program_invocation_short_name, *text, separator != '\0' ? separator : '.');
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
		fprintf(stderr, "%s: '%s' is not NETNS,IFINDEX\n", program_invocation_short_name,
			*text);
		exit(2);
	}
	while (i < places_count &&
	       (strncmp(places[i].netns, *text, length) != 0 || places[i].netns[length] != '\0'))
		i++;
	if (i == LINKS_MAX) {
		fprintf(stderr, "%s: more than %d namespaces\n", program_invocation_short_name,
			LINKS_MAX);
		exit(2);
	}
	if (i == places_count) {
		memcpy(places[i].netns, *text, length);
		places[i].socket = socket_open(places[i].netns, NETLINK_ROUTE, 0);
		places_count++;
	}
	*text += length + 1;
	return i;
}

void links_add(const char *word)
{
	struct watched *entry = &watched[watched_count];
	if (watched_count == LINKS_MAX) {
		fprintf(stderr, "%s: more than %d links\n", program_invocation_short_name,
			LINKS_MAX);
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

void links_read(unsigned sequence)
{
	for (size_t i = 0; i < places_count; i++)
		namespace_read(i, sequence);
}

void links_write(FILE *out, uint64_t time_ns)
{
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
}
