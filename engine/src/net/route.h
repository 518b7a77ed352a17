/* The network interface that carries a connection, and where it sits in the machine. */
#ifndef LANDSPEED_NET_ROUTE_H
#define LANDSPEED_NET_ROUTE_H

#include "base/failure.h"

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#define CPU_LIST_BYTES 256

struct route {
	char device[IF_NAMESIZE];
	char qdisc[32];            /* at its root: "fq", "mq", ...; empty: unknown */
	bool fq;                   /* fq there, or below mq: it paces what sockets ask for */
	uint32_t gso_bytes;        /* its largest packet before segmentation; 0: unknown */
	bool hardware;             /* a device is behind it: not lo, veth, tun, ... */
	int numa_node;             /* -1: none, or unknown */
	char cpus[CPU_LIST_BYTES]; /* near it, as the kernel lists them ("0-7,16-23"); may be empty
				    */
};

/* Of a connected socket. 0, or -1 with the failure set. */
int route_find(int fd, struct route *route, struct failure *failure);

#endif
