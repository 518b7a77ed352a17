#include "net/route.h"

#include "net/net.h"
#include "net/tune.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Between a site and a path: chosen, not measured. */
#define SITE_RTT_US 1000

/* A link's answer lists its statistics too. */
#define ANSWER_BYTES 16384

/* `address` as the family and the bytes that rtnetlink wants; an IPv4 peer of an IPv6 socket too.
 */
static size_t address_plain(const struct address *address, uint8_t *family, const void **bytes)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address->storage;
	if (address->storage.ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
		*family = AF_INET6;
		*bytes = &six->sin6_addr;
		return 16;
	}
	*family = AF_INET;
	if (address->storage.ss_family == AF_INET6)
		*bytes = &six->sin6_addr.s6_addr[12];
	else
		*bytes = &((const struct sockaddr_in *)&address->storage)->sin_addr;
	return 4;
}

static int interface_take(const struct nlattr *attribute, void *index)
{
	if (mnl_attr_get_type(attribute) == RTA_OIF &&
	    mnl_attr_validate(attribute, MNL_TYPE_U32) >= 0)
		*(uint32_t *)index = mnl_attr_get_u32(attribute);
	return MNL_CB_OK;
}

static int answer_take(const struct nlmsghdr *header, void *index)
{
	return mnl_attr_parse(header, sizeof(struct rtmsg), interface_take, index);
}

/* One question, one answer, which takes the question's place. 0 or a positive errno. */
static int answer_get(char buffer[ANSWER_BYTES], mnl_cb_t take, void *argument)
{
	struct nlmsghdr *header = (struct nlmsghdr *)(void *)buffer;
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (socket == NULL)
		return errno;
	int error = 0;
	ssize_t got = -1;
	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
	    mnl_socket_sendto(socket, header, header->nlmsg_len) < 0 ||
	    (got = mnl_socket_recvfrom(socket, buffer, ANSWER_BYTES)) < 0 ||
	    mnl_cb_run(buffer, (size_t)got, 0, mnl_socket_get_portid(socket), take, argument) < 0)
		error = errno;
	(void)mnl_socket_close(socket);
	return error;
}

/* RTM_GETROUTE: the kernel's own choice. 0 or a positive errno. */
static int interface_ask(const struct address *peer, const struct address *local, uint32_t *index)
{
	_Alignas(struct nlmsghdr) char buffer[ANSWER_BYTES];
	uint8_t family;
	const void *bytes;
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct rtmsg *route = mnl_nlmsg_put_extra_header(header, sizeof(*route));
	size_t length = address_plain(peer, &family, &bytes);
	header->nlmsg_type = RTM_GETROUTE;
	header->nlmsg_flags = NLM_F_REQUEST;
	route->rtm_family = family;
	route->rtm_dst_len = (unsigned char)(8 * length);
	mnl_attr_put(header, RTA_DST, length, bytes);
	length = address_plain(local, &route->rtm_family, &bytes);
	route->rtm_src_len = (unsigned char)(8 * length);
	mnl_attr_put(header, RTA_SRC, length, bytes);
	return answer_get(buffer, answer_take, index);
}

/* IPv4 has a limit of its own since Linux 6.3. */
#define GSO_IPV4_MAX_SIZE 63

struct gso_limits {
	uint32_t any;
	uint32_t ipv4;
};

static int gso_take(const struct nlattr *attribute, void *argument)
{
	struct gso_limits *limits = argument;
	if (mnl_attr_validate(attribute, MNL_TYPE_U32) < 0)
		return MNL_CB_OK;
	if (mnl_attr_get_type(attribute) == IFLA_GSO_MAX_SIZE)
		limits->any = mnl_attr_get_u32(attribute);
	if (mnl_attr_get_type(attribute) == GSO_IPV4_MAX_SIZE)
		limits->ipv4 = mnl_attr_get_u32(attribute);
	return MNL_CB_OK;
}

static int link_take(const struct nlmsghdr *header, void *limits)
{
	return mnl_attr_parse(header, sizeof(struct ifinfomsg), gso_take, limits);
}

/* RTM_GETLINK: the device's largest packet before segmentation; 0: unknown. */
static uint32_t gso_ask(const struct address *peer, int index)
{
	_Alignas(struct nlmsghdr) char buffer[ANSWER_BYTES];
	uint8_t family;
	const void *bytes;
	struct gso_limits limits = {0};
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *link = mnl_nlmsg_put_extra_header(header, sizeof(*link));
	header->nlmsg_type = RTM_GETLINK;
	header->nlmsg_flags = NLM_F_REQUEST;
	link->ifi_index = index;
	(void)address_plain(peer, &family, &bytes);
	if (answer_get(buffer, link_take, &limits) != 0)
		return 0;
	return family == AF_INET && limits.ipv4 != 0 ? limits.ipv4 : limits.any;
}

struct qdisc_search {
	struct route *route;
	int index;
};

static int kind_take(const struct nlattr *attribute, void *kind)
{
	if (mnl_attr_get_type(attribute) == TCA_KIND &&
	    mnl_attr_validate(attribute, MNL_TYPE_NUL_STRING) >= 0)
		*(const char **)kind = mnl_attr_get_str(attribute);
	return MNL_CB_OK;
}

static int qdisc_take(const struct nlmsghdr *header, void *argument)
{
	struct qdisc_search *search = argument;
	const struct tcmsg *qdisc = mnl_nlmsg_get_payload(header);
	const char *kind = NULL;
	if (qdisc->tcm_ifindex != search->index ||
	    mnl_attr_parse(header, sizeof(*qdisc), kind_take, &kind) < 0 || kind == NULL)
		return MNL_CB_OK;
	if (qdisc->tcm_parent == TC_H_ROOT)
		(void)snprintf(search->route->qdisc, sizeof(search->route->qdisc), "%s", kind);
	if (strcmp(kind, "fq") == 0)
		search->route->fq = true;
	return MNL_CB_OK;
}

/* What cannot be read stays unknown. */
static void qdiscs_ask(struct route *route, int index)
{
	char buffer[16384];
	struct qdisc_search search = {.route = route, .index = index};
	struct nlmsghdr *header = mnl_nlmsg_put_header(buffer);
	struct tcmsg *question = mnl_nlmsg_put_extra_header(header, sizeof(*question));
	header->nlmsg_type = RTM_GETQDISC;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	header->nlmsg_seq = 1;
	question->tcm_ifindex = index;
	struct mnl_socket *socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (socket == NULL)
		return;
	int more = mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0 ||
			   mnl_socket_sendto(socket, header, header->nlmsg_len) < 0
		       ? MNL_CB_STOP
		       : MNL_CB_OK;
	while (more > MNL_CB_STOP) {
		ssize_t got = mnl_socket_recvfrom(socket, buffer, sizeof(buffer));
		more = got < 0 ? MNL_CB_ERROR
			       : mnl_cb_run(buffer, (size_t)got, 1, mnl_socket_get_portid(socket),
					    qdisc_take, &search);
	}
	(void)mnl_socket_close(socket);
}

static void device_read(const char *device, const char *name, char *text, size_t size)
{
	char path[128];
	(void)snprintf(path, sizeof(path), "/sys/class/net/%s/device/%s", device, name);
	sysctl_read(path, text, size);
}

int route_find(int fd, struct route *route, struct failure *failure)
{
	struct address peer;
	struct address local;
	uint32_t index = 0;
	char text[32];
	memset(route, 0, sizeof(*route));
	if (net_peer_address(fd, &peer, failure) != 0 ||
	    net_local_address(fd, &local, failure) != 0)
		return -1;
	int error = interface_ask(&peer, &local, &index);
	if (error != 0)
		return failure_set_errno(failure, error, "cannot ask for the route");
	if (index == 0 || if_indextoname(index, route->device) == NULL)
		return failure_set(failure, "the route names no interface");
	qdiscs_ask(route, (int)index);
	route->gso_bytes = gso_ask(&peer, (int)index);
	device_read(route->device, "local_cpulist", route->cpus, sizeof(route->cpus));
	device_read(route->device, "numa_node", text, sizeof(text));
	route->hardware = text[0] != '\0' || route->cpus[0] != '\0';
	route->numa_node = text[0] != '\0' ? (int)strtol(text, NULL, 10) : -1;
	return 0;
}

bool route_timers_bind(const struct route *route, const char *congestion, uint32_t rtt_us)
{
	bool unaided = route->qdisc[0] != '\0' && !route->fq;
	return unaided && strncmp(congestion, "bbr", strlen("bbr")) == 0 && rtt_us != 0 &&
	       rtt_us < SITE_RTT_US;
}
