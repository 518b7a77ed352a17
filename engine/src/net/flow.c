#include "net/flow.h"

#include <errno.h>
#include <netinet/in.h>

/* Of linux/in6.h, which netinet/in.h excludes. */
struct flow_label_request {
	struct in6_addr to;
	uint32_t label;
	uint8_t action;
	uint8_t share;
	uint16_t flags;
	uint16_t expires;
	uint16_t linger;
	uint32_t padding;
};
#define FLOW_LABEL_GET    0
#define FLOW_LABEL_CREATE 1
#define FLOW_LABEL_ANY    255
#ifndef IPV6_FLOWLABEL_MGR
#define IPV6_FLOWLABEL_MGR 32
#endif
#ifndef IPV6_FLOWINFO_SEND
#define IPV6_FLOWINFO_SEND 33
#endif

void flow_label_address(struct address *peer, uint32_t label)
{
	if (peer->storage.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&peer->storage)->sin6_flowinfo = htonl(label);
}

int flow_label_claim(int fd, const struct address *peer, uint32_t label, struct failure *failure)
{
	struct flow_label_request request = {.label = htonl(label),
					     .action = FLOW_LABEL_GET,
					     .share = FLOW_LABEL_ANY,
					     .flags = FLOW_LABEL_CREATE};
	if (peer->storage.ss_family != AF_INET6)
		return failure_set(failure, "--flow-label: the connection is one of IPv4");
	request.to = ((const struct sockaddr_in6 *)&peer->storage)->sin6_addr;
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, &request, sizeof(request)) != 0)
		return failure_set_errno(failure, errno,
					 "--flow-label: setsockopt "
					 "IPV6_FLOWLABEL_MGR");
	int yes = 1;
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, &yes, sizeof(yes)) != 0)
		return failure_set_errno(failure, errno,
					 "--flow-label: setsockopt "
					 "IPV6_FLOWINFO_SEND");
	return 0;
}
