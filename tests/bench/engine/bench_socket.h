/* What the two small programs of bench_engine have in common: an end, a clock, a connection. */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_s(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int connection_accept(const char *port)
{
	const int one = 1;
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)atoi(port))};
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 ||
	    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
	    bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listener, 1) != 0)
		die("listen");
	int fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept");
	(void)close(listener);
	return fd;
}
