/* The network interface that carries a connection, and where it sits in the machine. */
#pragma once

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
/*
 * Does a packet that waits in the socket wait for a timer that takes longer than the packet? BBR
 * paces, and where no fq does that for it TCP takes a timer for each such packet. Within a site
 * BBR has only a few packets in flight, so that the next one waits nearly always. Pure.
 * `rtt_us`: 0 when unknown.
 */
bool route_timers_bind(const struct route *route, const char *congestion, uint32_t rtt_us);
