#include "sockets.h"
#include "owners.h"
#include "watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODES_MAX = 1024,
	RECEIVE_BYTES = 1 << 18,
	TRIES = 50, // samples in which the holder of a socket is looked for
	CLOSED = 7, // TCP_CLOSE of the kernel
	// All states but those without a connection: time-wait, closed, listening.
	STATES = (1 << 1) | (1 << 2) | (1 << 4) | (1 << 5) | (1 << 8) | (1 << 9) | (1 << 11),
	EXTENSIONS = (1 << (INET_DIAG_INFO - 1)) | (1 << (INET_DIAG_SKMEMINFO - 1)),
};

struct node {
	struct mnl_socket *asked;
	struct mnl_socket *told; // of sockets that end
};

struct known {
	uint64_t cookie;
	unsigned node;
	unsigned number;
	unsigned tries;
	unsigned char protocol;
	int is_written;
	struct inet_diag_msg message;
};

struct sample {
	struct inet_diag_msg message;
	struct tcp_info info;
	uint32_t memory[SK_MEMINFO_VARS];
	unsigned char protocol;
	int has_info, has_memory;
};

static struct node nodes[NODES_MAX];
static unsigned nodes_count;
static void *tree; // of struct known, by node and cookie
static struct known **all;
static unsigned all_count, all_room, first_open; // before first_open all owners are written
static struct pollfd polled[NODES_MAX];

// What the callbacks of libmnl and of the scan write to.
static FILE *rows_out, *owners_out;
static uint64_t sampled_ns;
static unsigned asked_node, sequence;
static unsigned char asked_protocol;
static int wants_owners;

void sockets_add(const char *netns)
{
	if (nodes_count == NODES_MAX) {
		fprintf(stderr, "%s: more than %d namespaces\n", program_invocation_short_name,
			NODES_MAX);
		exit(2);
	}
	struct node *node = &nodes[nodes_count];
	node->asked = socket_open(netns, NETLINK_SOCK_DIAG, 0);
	node->told = socket_open(netns, NETLINK_SOCK_DIAG, 0);
	const int groups[] = {SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY};
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		int group = groups[i];
		if (mnl_socket_setsockopt(node->told, NETLINK_ADD_MEMBERSHIP, &group,
					  sizeof(group)) < 0)
			die("netlink membership");
	}
	// If more end than it holds, those have no last row: no call fails for that (sockwatch.c).
	int on = 1;
	if (mnl_socket_setsockopt(node->told, NETLINK_NO_ENOBUFS, &on, sizeof(on)) < 0)
		die("netlink option");
	polled[nodes_count].fd = mnl_socket_get_fd(node->told);
	polled[nodes_count].events = POLLIN;
	nodes_count++;
}

static int known_compare(const void *one, const void *other)
{
	const struct known *a = one, *b = other;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->cookie < b->cookie ? -1 : a->cookie > b->cookie;
}

static struct known *known_of(const struct sample *sample)
{
	struct known wanted = {0};
	wanted.node = asked_node;
	wanted.cookie =
	    (uint64_t)sample->message.id.idiag_cookie[1] << 32 | sample->message.id.idiag_cookie[0];
	void *found = tfind(&wanted, &tree, known_compare);
	struct known *known = found != NULL ? *(struct known **)found : NULL;
	if (known == NULL) {
		if (all_count == all_room) {
			all_room = all_room == 0 ? 64 : 2 * all_room;
			struct known **more = realloc(all, all_room * sizeof(struct known *));
			if (more == NULL)
				die("memory");
			all = more;
		}
		known = malloc(sizeof(*known));
		if (known == NULL)
			die("memory");
		*known = wanted;
		known->number = all_count;
		known->protocol = sample->protocol;
		all[all_count++] = known;
		if (tsearch(known, &tree, known_compare) == NULL)
			die("memory");
	}
	if (sample->message.idiag_inode != 0 || known->message.idiag_family == 0)
		known->message = sample->message;
	return known;
}

static void owner_write(struct known *known, int pid, const char *program)
{
	char local[INET6_ADDRSTRLEN] = "", remote[INET6_ADDRSTRLEN] = "";
	const struct inet_diag_sockid *id = &known->message.id;
	(void)inet_ntop(known->message.idiag_family, id->idiag_src, local, sizeof(local));
	(void)inet_ntop(known->message.idiag_family, id->idiag_dst, remote, sizeof(remote));
	if (fprintf(owners_out, "%u,%u,%u,%s,%u,%s,%u,", known->number, known->node,
		    known->protocol, local, ntohs(id->idiag_sport), remote,
		    ntohs(id->idiag_dport)) < 0 ||
	    (pid > 0 ? fprintf(owners_out, "%d,%s\n", pid, program) : fputs(",\n", owners_out)) < 0)
		die("writing");
	known->is_written = 1;
}

static void owner_found(unsigned long inode, int pid, const char *program)
{
	for (unsigned i = first_open; i < all_count; i++) {
		if (!all[i]->is_written && all[i]->message.idiag_inode == inode)
			owner_write(all[i], pid, program);
	}
}

static void row_write(const struct sample *sample, const struct known *known)
{
	const struct inet_diag_msg *message = &sample->message;
	const struct tcp_info *info = &sample->info;
	const uint32_t *memory = sample->memory;
	int wrong = fprintf(rows_out, "%" PRIu64 ",%u,%u,%u,%u,", sampled_ns, known->number,
			    message->idiag_state, message->idiag_rqueue, message->idiag_wqueue) < 0;
	if (sample->has_memory)
		wrong |= fprintf(rows_out, "%u,%u,%u,%u,%u,", memory[SK_MEMINFO_RMEM_ALLOC],
				 memory[SK_MEMINFO_RCVBUF], memory[SK_MEMINFO_WMEM_QUEUED],
				 memory[SK_MEMINFO_SNDBUF], memory[SK_MEMINFO_DROPS]) < 0;
	else
		wrong |= fputs(",,,,,", rows_out) < 0;
	if (!sample->has_info) {
		wrong |= fputs(",,,,,,,,,,,,,,,,,,,,,,,,\n", rows_out) < 0;
	} else {
		wrong |= fprintf(rows_out, "%u,%u,%u,%u,%u,%u,%u,%u,%u,%" PRIu64 ",",
				 info->tcpi_snd_cwnd, info->tcpi_snd_ssthresh, info->tcpi_rtt,
				 info->tcpi_rttvar, info->tcpi_min_rtt, info->tcpi_total_retrans,
				 info->tcpi_lost,
				 info->tcpi_unacked - info->tcpi_sacked - info->tcpi_lost +
				     info->tcpi_retrans,
				 info->tcpi_ca_state, (uint64_t)info->tcpi_delivery_rate * 8) < 0;
		// Not paced: the greatest number.
		if (info->tcpi_pacing_rate > INT64_MAX / 8)
			wrong |= fputs(",", rows_out) < 0;
		else
			wrong |= fprintf(rows_out, "%" PRIu64 ",",
					 (uint64_t)info->tcpi_pacing_rate * 8) < 0;
		wrong |=
		    fprintf(rows_out,
			    "%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%" PRIu64 ",%" PRIu64
			    ",%" PRIu64 ",%" PRIu64 ",%u,%u,%u\n",
			    info->tcpi_delivery_rate_app_limited, (uint64_t)info->tcpi_busy_time,
			    (uint64_t)info->tcpi_rwnd_limited, (uint64_t)info->tcpi_sndbuf_limited,
			    info->tcpi_rcv_space, info->tcpi_snd_wnd, info->tcpi_snd_mss,
			    (uint64_t)info->tcpi_bytes_sent, (uint64_t)info->tcpi_bytes_acked,
			    (uint64_t)info->tcpi_bytes_received, (uint64_t)info->tcpi_bytes_retrans,
			    info->tcpi_notsent_bytes, info->tcpi_data_segs_out,
			    info->tcpi_data_segs_in) < 0;
	}
	if (wrong)
		die("writing");
}

static int attribute_read(const struct nlattr *attribute, void *data)
{
	struct sample *sample = data;
	const void *payload = mnl_attr_get_payload(attribute);
	size_t length = mnl_attr_get_payload_len(attribute);
	switch (mnl_attr_get_type(attribute)) {
	case INET_DIAG_INFO:
		memcpy(&sample->info, payload,
		       length < sizeof(sample->info) ? length : sizeof(sample->info));
		sample->has_info = length > 0;
		break;
	case INET_DIAG_SKMEMINFO:
		memcpy(sample->memory, payload,
		       length < sizeof(sample->memory) ? length : sizeof(sample->memory));
		sample->has_memory = 1;
		break;
	case INET_DIAG_PROTOCOL:
		sample->protocol = *(const unsigned char *)payload;
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

static int socket_read(const struct nlmsghdr *message, void *data)
{
	(void)data;
	struct sample sample = {.protocol = asked_protocol};
	memcpy(&sample.message, mnl_nlmsg_get_payload(message), sizeof(sample.message));
	(void)mnl_attr_parse(message, sizeof(struct inet_diag_msg), attribute_read, &sample);
	if (sample.protocol == IPPROTO_TCP && sample.message.id.idiag_dport == 0)
		return MNL_CB_OK; // it listened, or never had a peer
	if (sample.message.id.idiag_cookie[0] == INET_DIAG_NOCOOKIE)
		return MNL_CB_OK;
	struct known *known = known_of(&sample);
	row_write(&sample, known);
	if (!known->is_written && sample.message.idiag_inode != 0 && known->tries++ < TRIES)
		wants_owners = 1;
	return MNL_CB_OK;
}

static void request_send(struct mnl_socket *socket, char *buffer, unsigned char family)
{
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	request->nlmsg_seq = ++sequence;
	if (asked_protocol == IPPROTO_TCP) { // the older request asks for both families at once
		request->nlmsg_type = TCPDIAG_GETSOCK;
		struct inet_diag_req *wanted =
		    mnl_nlmsg_put_extra_header(request, sizeof(struct inet_diag_req));
		wanted->idiag_states = STATES;
		wanted->idiag_ext = EXTENSIONS;
	} else {
		request->nlmsg_type = SOCK_DIAG_BY_FAMILY;
		struct inet_diag_req_v2 *wanted =
		    mnl_nlmsg_put_extra_header(request, sizeof(struct inet_diag_req_v2));
		wanted->sdiag_family = family;
		wanted->sdiag_protocol = asked_protocol;
		wanted->idiag_states = ~0U;
		wanted->idiag_ext = EXTENSIONS;
	}
	if (mnl_socket_sendto(socket, request, request->nlmsg_len) < 0)
		die("netlink request");
}

static void node_ask(unsigned char protocol, unsigned char family)
{
	static char buffer[RECEIVE_BYTES];
	struct mnl_socket *socket = nodes[asked_node].asked;
	asked_protocol = protocol;
	request_send(socket, buffer, family);
	int state = MNL_CB_OK;
	while (state > MNL_CB_STOP) {
		ssize_t length = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			die("netlink answer");
		state = mnl_cb_run(buffer, (size_t)length, sequence, mnl_socket_get_portid(socket),
				   socket_read, NULL);
	}
	if (state == MNL_CB_ERROR)
		die("netlink answer");
}

// What ended since the last sample, with its final counts.
static void ended_read(void)
{
	static char buffer[RECEIVE_BYTES];
	if (poll(polled, nodes_count, 0) <= 0)
		return;
	asked_protocol = 0;
	for (asked_node = 0; asked_node < nodes_count; asked_node++) {
		struct pollfd *one = &polled[asked_node];
		// Asked before each: to receive what is not there would fail (sockwatch.c).
		while ((one->revents & POLLIN) != 0 && poll(one, 1, 0) > 0) {
			ssize_t length = recv(one->fd, buffer, sizeof(buffer), MSG_DONTWAIT);
			if (length < 0)
				break;
			(void)mnl_cb_run(buffer, (size_t)length, 0, 0, socket_read, NULL);
		}
	}
}

void sockets_write(FILE *rows, FILE *owners, uint64_t time_ns)
{
	rows_out = rows;
	owners_out = owners;
	sampled_ns = time_ns;
	wants_owners = 0;
	ended_read();
	for (asked_node = 0; asked_node < nodes_count; asked_node++) {
		node_ask(IPPROTO_TCP, AF_UNSPEC);
		node_ask(IPPROTO_UDP, AF_INET);
		node_ask(IPPROTO_UDP, AF_INET6);
	}
	if (wants_owners)
		owners_scan(owner_found);
	while (first_open < all_count && all[first_open]->is_written)
		first_open++;
}

void sockets_finish(FILE *owners)
{
	owners_out = owners;
	for (unsigned i = first_open; i < all_count; i++) {
		if (!all[i]->is_written)
			owner_write(all[i], 0, "");
	}
}
