/* The flow label of IPv6 (RFC 6437) of a connection to be made. */
#pragma once

#include "net/net.h"

/* The socket's packets shall have it: the label becomes this host's towards that peer. */
int flow_label_claim(int fd, const struct address *peer, uint32_t label, struct failure *failure);
/* The address to connect to then. */
void flow_label_address(struct address *peer, uint32_t label);
