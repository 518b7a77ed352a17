// The counters of every link's qdisc, as rows of a CSV.
#pragma once

#include <stdint.h>
#include <stdio.h>

// Columns: time_ns, link, direction, bytes, packets (both: left the link's qdisc), drops,
// backlog_bytes, backlog_packets (both: waiting for the line; never what is under way), marks
// (packets that a discipline marked instead of dropping).
#define LINKS_HEADER                                                                               \
	"time_ns,link,direction,bytes,packets,drops,backlog_bytes,backlog_packets,marks\n"

// Another link: LINK,DIRECTION,NETNS,IFINDEX[,NETNS,IFINDEX,LINE]. What is wrong with it is said,
// and the program ends with status 2.
void links_add(const char *word);

// Asks each namespace once. `sequence`: another one each time.
void links_read(unsigned sequence);

// A row for each link, in the order in which they were added.
void links_write(FILE *out, uint64_t time_ns);
