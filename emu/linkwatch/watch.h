// What a program needs that looks at namespaces at an interval: its sockets, its sleep, its end.
#pragma once

#include <libmnl/libmnl.h>
#include <stdint.h>
#include <time.h>

// Says what failed, with errno's words, and ends with status 1.
_Noreturn void die(const char *what);

// A netlink socket of a bus (NETLINK_ROUTE, …) in a namespace, a member of multicast groups. This
// thread stays in that namespace.
struct mnl_socket *socket_open(const char *netns, int bus, unsigned groups);

// A number of nanoseconds above 0; else says so and ends with status 2.
uint64_t interval_read(const char *word);

// From now on SIGTERM and SIGINT end a sleep.
void stop_on_signals(void);
int is_stopped(void);

void timespec_add(struct timespec *time, uint64_t interval_ns);

// The next whole interval of the monotonic clock: how long a program took to start is then in no
// sample.
struct timespec next_whole(uint64_t interval_ns);

// Returns at that time of the monotonic clock, or when the program is to stop. Reads no clock.
void sleep_until(const struct timespec *time);
