#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;

static void handle_stop(int number)
{
	(void)number;
	stopped = 1;
}

void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

struct mnl_socket *socket_open(const char *netns, int bus, unsigned groups)
{
	int descriptor = open(netns, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0 || setns(descriptor, CLONE_NEWNET) != 0)
		die(netns);
	close(descriptor);
	struct mnl_socket *socket = mnl_socket_open2(bus, SOCK_CLOEXEC);
	if (socket == NULL || mnl_socket_bind(socket, groups, MNL_SOCKET_AUTOPID) < 0)
		die("netlink");
	return socket;
}

uint64_t interval_read(const char *word)
{
	char *end;
	uint64_t interval_ns = strtoull(word, &end, 10);
	if (*end != '\0' || interval_ns == 0) {
		fprintf(stderr, "%s: interval '%s' is not a number of nanoseconds above 0\n",
			program_invocation_short_name, word);
		exit(2);
	}
	return interval_ns;
}

void stop_on_signals(void)
{
	struct sigaction action = {.sa_handler = handle_stop}; // no SA_RESTART: the sleep must end
	if (sigaction(SIGTERM, &action, NULL) != 0 || sigaction(SIGINT, &action, NULL) != 0)
		die("sigaction");
}

int is_stopped(void)
{
	return stopped;
}

void timespec_add(struct timespec *time, uint64_t interval_ns)
{
	uint64_t sum = (uint64_t)time->tv_nsec + interval_ns;
	time->tv_sec += (time_t)(sum / 1000000000U);
	time->tv_nsec = (long)(sum % 1000000000U);
}

struct timespec next_whole(uint64_t interval_ns)
{
	struct timespec next;
	if (clock_gettime(CLOCK_MONOTONIC, &next) != 0)
		die("clock");
	uint64_t now_ns = (uint64_t)next.tv_sec * 1000000000 + (uint64_t)next.tv_nsec;
	timespec_add(&next, interval_ns - now_ns % interval_ns);
	return next;
}

void sleep_until(const struct timespec *time)
{
	while (!stopped && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, time, NULL) == EINTR)
		;
}
