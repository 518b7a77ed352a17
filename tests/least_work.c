/*
 * The least that any program must ask of the kernel to move bytes over one TCP connection: no
 * measuring, no looking at what comes. `bench_engine.py least` builds it and sets the engine and
 * iperf3 beside it.
 *
 *   least_work receive PORT discard|memory
 *   least_work send HOST PORT splice|write SECONDS PACKET      prints JSON: bytes, seconds
 */
#define _GNU_SOURCE
#include "bench_socket.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define PAYLOAD_BYTES   ((size_t)2 << 20)
#define PIPE_BYTES      ((size_t)1 << 20)
#define STRIDE_BYTES    ((size_t)64 << 10) /* what splice(2) hands over at once */
#define COPY_BYTES      ((size_t)128 << 10)
#define DISCARD_BYTES   ((size_t)64 << 20)
#define LOW_WATER_BYTES (1 << 20)

static void *range_map(size_t size)
{
	void *range = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (range == MAP_FAILED)
		die("mmap");
	return range;
}

static void receive(const char *port, int discard)
{
	const int low_water = LOW_WATER_BYTES;
	int fd = connection_accept(port);
	if (discard && setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low_water, sizeof(low_water)) != 0)
		die("SO_RCVLOWAT");
	size_t size = discard ? DISCARD_BYTES : COPY_BYTES;
	void *buffer = range_map(size);
	ssize_t got;
	do
		got = recv(fd, buffer, size, discard ? MSG_TRUNC : 0);
	while (got > 0);
	if (got < 0)
		die("recv");
}

/* The same pages again and again, each packet from the beginning of a page on; their bytes. */
static size_t pages_lend(int fd, const int pipe[2], char *bytes, size_t packet)
{
	struct iovec parts[PIPE_BYTES / STRIDE_BYTES];
	size_t count = sizeof(parts) / sizeof(parts[0]);
	for (size_t i = 0; i < count; i++)
		parts[i] = (struct iovec){bytes + i * STRIDE_BYTES, packet};
	ssize_t filled = vmsplice(pipe[1], parts, count, SPLICE_F_NONBLOCK);
	if (filled <= 0)
		die("vmsplice");
	for (ssize_t left = filled; left > 0;) {
		ssize_t sent = splice(pipe[0], NULL, fd, NULL, (size_t)left, 0);
		if (sent <= 0)
			die("splice");
		left -= sent;
	}
	return (size_t)filled;
}

static void transmit(const char *host, const char *port, int lend, double seconds, size_t packet)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)atoi(port))};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int pipe[2];
	size_t bytes = 0;
	char byte;
	char *payload = range_map(2 * PAYLOAD_BYTES);
	payload += PAYLOAD_BYTES - (uintptr_t)payload % PAYLOAD_BYTES;
	(void)madvise(payload, PAYLOAD_BYTES, MADV_HUGEPAGE);
	memset(payload, 7, PAYLOAD_BYTES);
	if (inet_pton(AF_INET, host, &address.sin_addr) != 1 || fd < 0 || pipe2(pipe, 0) != 0 ||
	    fcntl(pipe[1], F_SETPIPE_SZ, PIPE_BYTES) < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		die("connect");
	double begun_s = now_s();
	while (now_s() < begun_s + seconds) {
		ssize_t sent = lend ? (ssize_t)pages_lend(fd, pipe, payload, packet)
				    : send(fd, payload, COPY_BYTES, 0);
		if (sent < 0)
			die("send");
		bytes += (size_t)sent;
	}
	/* The receiver closes when it has read everything. */
	if (shutdown(fd, SHUT_WR) != 0 || recv(fd, &byte, 1, 0) != 0)
		die("end");
	(void)printf("{\"bytes\": %zu, \"seconds\": %.6f}\n", bytes, now_s() - begun_s);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "receive") == 0)
		receive(argv[2], strcmp(argv[3], "discard") == 0);
	else if (argc == 7 && strcmp(argv[1], "send") == 0)
		transmit(argv[2], argv[3], strcmp(argv[4], "splice") == 0, atof(argv[5]),
			 (size_t)atol(argv[6]));
	else
		return 2;
	return 0;
}
