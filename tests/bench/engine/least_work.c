/*
 * The least that any program must do to move bytes over one TCP connection: the system calls, and
 * nothing that measures, counts or reports. With `make` and `check` each block is made, summed and
 * written, and its sum is compared: by the functions of the engine, which cost no more than a copy
 * of the block in the second-level cache (`bench_engine.py making`). bench_engine.py builds it and
 * sets the engine and iperf3 beside it.
 *
 *   least_work receive PORT discard|memory|check PACKET
 *   least_work send HOST PORT splice|make SECONDS PACKET      prints JSON: bytes, seconds
 */
#define _GNU_SOURCE
#include "bench_socket.h"
#include "payload/block_fill.h"
#include "payload/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
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

/* The sum comes first, then what was summed. 0 at the end of the connection. */
static ssize_t block_check(int fd, uint8_t *block, size_t size)
{
	static uint64_t sequence;
	uint64_t sum;
	ssize_t got = recv(fd, block, size, MSG_WAITALL);
	memcpy(&sum, block, sizeof(sum));
	if (got == (ssize_t)size && block_sum(fill_method_best(), block + sizeof(sum),
					      size - sizeof(sum), sequence++) != sum) {
		errno = EBADMSG;
		return -1;
	}
	return got;
}

static void receive(const char *port, const char *how, uint32_t packet)
{
	const int low_water = LOW_WATER_BYTES;
	int discard = strcmp(how, "discard") == 0;
	int check = strcmp(how, "check") == 0;
	int fd = connection_accept(port);
	if ((discard || check) &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low_water, sizeof(low_water)) != 0)
		die("SO_RCVLOWAT");
	size_t size = discard ? DISCARD_BYTES : check ? block_bytes_choose(packet) : COPY_BYTES;
	void *buffer = range_map(size);
	ssize_t got;
	do
		got = check ? block_check(fd, buffer, size)
			    : recv(fd, buffer, size, discard ? MSG_TRUNC : 0);
	while (got > 0);
	if (got < 0)
		die("recv");
}

/* A block that no other is like; its bytes. */
static ssize_t block_send(int fd, uint8_t *block, size_t size)
{
	static struct generator generator;
	static uint64_t sequence;
	if (sequence == 0)
		generator = generator_create(1, 1);
	uint64_t sum = block_fill(fill_method_best(), &generator, block_origin(sequence),
				  block + sizeof(sum), size - sizeof(sum), sequence);
	sequence++;
	memcpy(block, &sum, sizeof(sum));
	for (size_t done = 0; done < size;) {
		ssize_t sent = send(fd, block + done, size - done, 0);
		if (sent < 0)
			return -1;
		done += (size_t)sent;
	}
	return (ssize_t)size;
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
	/* Else TCP sends by timers what waits in the socket, where BBR paces and no fq does. */
	const int unsent = 1;
	if (lend && setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent)) != 0)
		die("TCP_NOTSENT_LOWAT");
	double begun_s = now_s();
	while (now_s() < begun_s + seconds) {
		ssize_t sent =
		    lend ? (ssize_t)pages_lend(fd, pipe, payload, packet)
			 : block_send(fd, (uint8_t *)payload, block_bytes_choose((uint32_t)packet));
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
	if (argc == 5 && strcmp(argv[1], "receive") == 0)
		receive(argv[2], argv[3], (uint32_t)atol(argv[4]));
	else if (argc == 7 && strcmp(argv[1], "send") == 0)
		transmit(argv[2], argv[3], strcmp(argv[4], "splice") == 0, atof(argv[5]),
			 (size_t)atol(argv[6]));
	else
		return 2;
	return 0;
}
