/* Addresses, listening and connecting; no transfer logic. */
#pragma once

#include "base/failure.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct address {
	struct sockaddr_storage storage;
	socklen_t length;
};

#define ADDRESS_TEXT_BYTES (NI_MAXHOST + NI_MAXSERV + 4)

void net_address_text(const struct address *address, char text[ADDRESS_TEXT_BYTES]);
int net_local_address(int fd, struct address *address, struct failure *failure);
int net_peer_address(int fd, struct address *address, struct failure *failure);
uint16_t net_port(const struct address *address);
void net_set_port(struct address *address, uint16_t port);
/* Every address of this host, of the same family and with the same port. */
void net_set_any(struct address *address);
/* The same host, whatever the port and whether an IPv4 address is written as one of IPv6. */
bool net_same_host(const struct address *a, const struct address *b);
/* The host, or of IPv6 its /64: whoever has one address there has them all. */
struct in6_addr net_site(const struct address *address);
bool net_same_site(const struct in6_addr *a, const struct in6_addr *b);
/* Networks that sites are in, from the widest: /48, /56 and the /64; of IPv4 the /24 and the host.
 */
#define NETWORK_LEVELS 3
bool net_same_network(const struct in6_addr *a, const struct in6_addr *b, unsigned level);

/* A bound socket, to be tuned before net_listen; buffers must be set before a SYN arrives. */
int net_bind(const struct address *address, struct failure *failure);
/* The same for data connections, over MPTCP when asked for. */
int net_bind_data(const struct address *address, bool mptcp, struct failure *failure);
int net_listen(int fd, int backlog, struct failure *failure);
/* Bind and listen on `host` (NULL: IPv6 and IPv4 at once where there is IPv6). */
int net_listen_on(const char *host, uint16_t port, struct failure *failure);
/* A nonblocking connection, or -1 when none is waiting. */
int net_accept(int listener, struct address *peer);

/* A nonblocking socket of the address's family. */
int net_socket(const struct address *address, struct failure *failure);
int net_socket_data(const struct address *address, bool mptcp, struct failure *failure);
/* From that local address (a name or number), any port. */
int net_bind_source(int fd, const char *host, const struct address *peer, struct failure *failure);
/* From that local address, any port. */
int net_bind_local(int fd, const struct address *local, struct failure *failure);
/* Does the connection really use MPTCP? False after it fell back to TCP. */
bool net_mptcp_used(int fd);
/* Begins to connect; finished when the socket is writable and net_connect_status says 0. */
int net_connect(int fd, const struct address *address, struct failure *failure);
/* 0 or a positive errno. */
int net_connect_status(int fd);

int net_set_blocking(int fd, bool blocking, struct failure *failure);
/* What is written leaves at once. */
int net_no_delay(int fd, struct failure *failure);
/* Small messages leave at once; a peer that vanished is noticed within minutes, or after a silence
 * of `patience_ns` if that is longer. */
int net_keep_alive(int fd, uint64_t patience_ns, struct failure *failure);
/* Probes go on, for the state of a firewall on the way; that two hours of them are not answered
 * means nothing yet. */
int net_keep_alive_anyway(int fd, struct failure *failure);
/* Closes with a reset: what is still queued is thrown away. */
void net_abort(int fd);
