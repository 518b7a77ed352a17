#include "net/net.h"

#include "base/clock.h"
#include "net/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Strangers that come in a burst shall not make a client wait; the system may allow less. */
#define LISTEN_BACKLOG         4096
#define KEEP_ALIVE_IDLE_S      60
#define KEEP_ALIVE_PROBES      12
#define KEEP_ALIVE_PROBES_MOST 127 /* of Linux: MAX_TCP_KEEPCNT */
/* Of linux/mptcp.h and netinet/in.h, which are younger than some C libraries. */
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif
#ifndef MPTCP_INFO
#define MPTCP_INFO 1
#endif
#ifndef MPTCP_INFO_FLAG_FALLBACK
#define MPTCP_INFO_FLAG_FALLBACK 1
#endif

void net_address_text(const struct address *address, char text[ADDRESS_TEXT_BYTES])
{
	char host[NI_MAXHOST];
	char service[NI_MAXSERV];
	if (getnameinfo((const struct sockaddr *)&address->storage, address->length, host,
			sizeof(host), service, sizeof(service),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
		(void)snprintf(text, ADDRESS_TEXT_BYTES, "(unknown address)");
		return;
	}
	const char *format = address->storage.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s";
	(void)snprintf(text, ADDRESS_TEXT_BYTES, format, host, service);
}

int net_local_address(int fd, struct address *address, struct failure *failure)
{
	address->length = sizeof(address->storage);
	if (getsockname(fd, (struct sockaddr *)&address->storage, &address->length) != 0)
		return failure_set_errno(failure, errno, "getsockname");
	return 0;
}

int net_peer_address(int fd, struct address *address, struct failure *failure)
{
	address->length = sizeof(address->storage);
	if (getpeername(fd, (struct sockaddr *)&address->storage, &address->length) != 0)
		return failure_set_errno(failure, errno, "getpeername");
	return 0;
}

static in_port_t *port_field(struct address *address)
{
	if (address->storage.ss_family == AF_INET6)
		return &((struct sockaddr_in6 *)&address->storage)->sin6_port;
	return &((struct sockaddr_in *)&address->storage)->sin_port;
}

uint16_t net_port(const struct address *address)
{
	struct address copy = *address;
	return ntohs(*port_field(&copy));
}

void net_set_port(struct address *address, uint16_t port)
{
	*port_field(address) = htons(port);
}

void net_set_any(struct address *address)
{
	if (address->storage.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&address->storage)->sin6_addr = in6addr_any;
	else
		((struct sockaddr_in *)&address->storage)->sin_addr.s_addr = htonl(INADDR_ANY);
}

/* The address as 16 bytes; those of IPv4 as ::ffff:a.b.c.d. */
static struct in6_addr address_bytes(const struct address *address)
{
	struct in6_addr bytes = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
	if (address->storage.ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)&address->storage)->sin6_addr;
	memcpy(&bytes.s6_addr[12],
	       &((const struct sockaddr_in *)&address->storage)->sin_addr.s_addr, 4);
	return bytes;
}

bool net_same_host(const struct address *a, const struct address *b)
{
	struct in6_addr left = address_bytes(a);
	struct in6_addr right = address_bytes(b);
	return memcmp(&left, &right, sizeof(left)) == 0;
}

struct in6_addr net_site(const struct address *address)
{
	struct in6_addr bytes = address_bytes(address);
	/* All of IPv4, and ::1, are in one /64 there. */
	if (!IN6_IS_ADDR_V4MAPPED(&bytes) && !IN6_IS_ADDR_LOOPBACK(&bytes))
		memset(&bytes.s6_addr[8], 0, 8);
	return bytes;
}

bool net_same_site(const struct in6_addr *a, const struct in6_addr *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool net_same_network(const struct in6_addr *a, const struct in6_addr *b, unsigned level)
{
	static const size_t bytes[NETWORK_LEVELS] = {6, 7, 16};
	static const size_t mapped_bytes[NETWORK_LEVELS] = {15, 15, 16};
	bool mapped = IN6_IS_ADDR_V4MAPPED(a) || IN6_IS_ADDR_V4MAPPED(b);
	return memcmp(a, b, mapped ? mapped_bytes[level] : bytes[level]) == 0;
}

int net_socket_data(const struct address *address, bool mptcp, struct failure *failure)
{
	int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			mptcp ? IPPROTO_MPTCP : IPPROTO_TCP);
	if (fd >= 0)
		return fd;
	if (mptcp && (errno == EPROTONOSUPPORT || errno == ENOPROTOOPT || errno == EINVAL))
		return failure_set(failure,
				   "MPTCP is not to be had on this host: the kernel has none "
				   "(CONFIG_MPTCP), or sysctl net.mptcp.enabled is 0");
	return failure_set_errno(failure, errno, "socket");
}

int net_socket(const struct address *address, struct failure *failure)
{
	return net_socket_data(address, false, failure);
}

bool net_mptcp_used(int fd)
{
	/* struct mptcp_info of linux/mptcp.h begins so; on a connection that fell back: an error.
	 */
	struct {
		uint8_t counts[8];
		uint32_t flags;
	} info = {0};
	socklen_t length = sizeof(info);
	return getsockopt(fd, SOL_MPTCP, MPTCP_INFO, &info, &length) == 0 &&
	       (info.flags & MPTCP_INFO_FLAG_FALLBACK) == 0;
}

int net_bind_source(int fd, const char *host, const struct address *peer, struct failure *failure)
{
	struct addrinfo *list;
	const struct addrinfo *entry;
	if (net_resolve(host, 0, AF_UNSPEC, &list, failure) != 0)
		return -1;
	for (entry = list; entry != NULL && entry->ai_family != peer->storage.ss_family;
	     entry = entry->ai_next)
		continue;
	int status = 0;
	if (entry == NULL)
		status = failure_set(failure,
				     "--bind: '%s' is no address of the receiver's family (IPv%c)",
				     host, peer->storage.ss_family == AF_INET6 ? '6' : '4');
	else if (bind(fd, entry->ai_addr, entry->ai_addrlen) != 0)
		status = failure_set_errno(failure, errno, "cannot connect from %s", host);
	freeaddrinfo(list);
	return status;
}

static int option_set(int fd, int level, int option, int value, const char *name,
		      struct failure *failure)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)) != 0)
		return failure_set_errno(failure, errno, "setsockopt %s", name);
	return 0;
}

int net_bind_local(int fd, const struct address *local, struct failure *failure)
{
	char text[ADDRESS_TEXT_BYTES];
	struct address address = *local;
	net_set_port(&address, 0);
	/* The port is chosen when the peer is known: the same one may serve for several peers. */
	if (option_set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1, "IP_BIND_ADDRESS_NO_PORT",
		       failure) != 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)&address.storage, address.length) == 0)
		return 0;
	int error = errno;
	net_address_text(&address, text);
	return failure_set_errno(failure, error, "cannot connect from %s", text);
}

int net_bind(const struct address *address, struct failure *failure)
{
	return net_bind_data(address, false, failure);
}

int net_bind_data(const struct address *address, bool mptcp, struct failure *failure)
{
	char text[ADDRESS_TEXT_BYTES];
	int fd = net_socket_data(address, mptcp, failure);
	if (fd < 0)
		return -1;
	if (option_set(fd, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR", failure) != 0)
		goto refuse;
	if (address->storage.ss_family == AF_INET6 &&
	    option_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY", failure) != 0)
		goto refuse;
	if (bind(fd, (const struct sockaddr *)&address->storage, address->length) != 0) {
		int error = errno;
		net_address_text(address, text);
		(void)failure_set_errno(failure, error, "cannot listen on %s", text);
		goto refuse;
	}
	return fd;
refuse:
	(void)close(fd);
	return -1;
}

int net_listen(int fd, int backlog, struct failure *failure)
{
	if (listen(fd, backlog) != 0)
		return failure_set_errno(failure, errno, "listen");
	return 0;
}

static int address_listen(const struct addrinfo *entry, struct failure *failure)
{
	struct address address = {.length = entry->ai_addrlen};
	memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
	int fd = net_bind(&address, failure);
	if (fd >= 0 && net_listen(fd, LISTEN_BACKLOG, failure) != 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

int net_listen_on(const char *host, uint16_t port, struct failure *failure)
{
	struct addrinfo *list;
	if (net_resolve(host, port, AF_UNSPEC, &list, failure) != 0)
		return -1;
	int fd = -1;
	struct failure first = {0};
	/* An IPv6 socket takes IPv4 as well, so it is tried first. */
	for (int pass = 0; pass < 2 && fd < 0; pass++) {
		for (struct addrinfo *entry = list; entry != NULL && fd < 0;
		     entry = entry->ai_next) {
			if ((entry->ai_family == AF_INET6) == (pass == 0))
				fd = address_listen(entry, &first);
		}
	}
	freeaddrinfo(list);
	return fd >= 0 ? fd : failure_set(failure, "%s", first.text);
}

int net_accept(int listener, struct address *peer)
{
	peer->length = sizeof(peer->storage);
	int fd;
	do {
		fd = accept4(listener, (struct sockaddr *)&peer->storage, &peer->length,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	return fd;
}

int net_connect(int fd, const struct address *address, struct failure *failure)
{
	char text[ADDRESS_TEXT_BYTES];
	if (connect(fd, (const struct sockaddr *)&address->storage, address->length) == 0 ||
	    errno == EINPROGRESS)
		return 0;
	int error = errno;
	net_address_text(address, text);
	return failure_set_errno(failure, error, "cannot connect to %s", text);
}

int net_connect_status(int fd)
{
	int error = 0;
	socklen_t length = sizeof(error);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
		return errno;
	return error;
}

int net_set_blocking(int fd, bool blocking, struct failure *failure)
{
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return failure_set_errno(failure, errno, "fcntl");
	flags = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
	if (fcntl(fd, F_SETFL, flags) != 0)
		return failure_set_errno(failure, errno, "fcntl");
	return 0;
}

int net_no_delay(int fd, struct failure *failure)
{
	return option_set(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY", failure);
}

int net_keep_alive(int fd, uint64_t patience_ns, struct failure *failure)
{
	const uint64_t probe_ns = patience_ns / KEEP_ALIVE_PROBES;
	const uint64_t probe_s = (probe_ns + NS_PER_S - 1) / NS_PER_S;
	if (net_no_delay(fd, failure) != 0 ||
	    option_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE", failure) != 0 ||
	    option_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_ALIVE_IDLE_S, "TCP_KEEPIDLE", failure) !=
		0 ||
	    option_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, probe_s > 10 ? (int)probe_s : 10,
		       "TCP_KEEPINTVL", failure) != 0 ||
	    option_set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_ALIVE_PROBES, "TCP_KEEPCNT", failure) !=
		0)
		return -1;
	return 0;
}

int net_keep_alive_anyway(int fd, struct failure *failure)
{
	if (option_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_ALIVE_IDLE_S, "TCP_KEEPINTVL",
		       failure) != 0 ||
	    option_set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_ALIVE_PROBES_MOST, "TCP_KEEPCNT",
		       failure) != 0)
		return -1;
	return 0;
}

void net_abort(int fd)
{
	struct linger now = {.l_onoff = 1, .l_linger = 0};
	/* If it fails the kernel drains the queue after close: slower, not wrong. */
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	(void)close(fd);
}
