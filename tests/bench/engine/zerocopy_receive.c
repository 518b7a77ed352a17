/*
 * Would TCP_ZEROCOPY_RECEIVE pay here? A sender and a receiver that copies or maps, over one TCP
 * connection; `bench_engine.py zerocopy-receive` builds and runs it.
 *
 *   zerocopy_receive receive PORT copy|map      prints JSON: bytes, mapped bytes, processor seconds
 *   zerocopy_receive send HOST PORT write|sendfile|zerocopy SECONDS
 */
#define _GNU_SOURCE
#include "bench_socket.h"

#include <errno.h>
#include <linux/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>

#define CHUNK_BYTES ((size_t)1 << 20)

static ssize_t part_copy(int fd, void *buffer, size_t count)
{
	ssize_t got = recv(fd, buffer, count, 0);
	if (got < 0 && errno != EAGAIN)
		die("recv");
	return got;
}

/* Bytes that the kernel mapped, after what it left was copied; -1 at the end of the stream. */
static ssize_t part_map(int fd, void *pages, void *buffer, size_t *copied)
{
	struct tcp_zerocopy_receive ask = {.address = (uintptr_t)pages, .length = CHUNK_BYTES};
	socklen_t length = sizeof(ask);
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	(void)poll(&poller, 1, -1);
	if (getsockopt(fd, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &ask, &length) != 0) {
		if (errno == EIO) /* nothing is left, and the sender has ended */
			return -1;
		die("TCP_ZEROCOPY_RECEIVE");
	}
	if (ask.length != 0 && ask.recv_skip_hint == 0)
		return ask.length;
	size_t left = ask.recv_skip_hint != 0 ? ask.recv_skip_hint : CHUNK_BYTES;
	ssize_t got = part_copy(fd, buffer, left < CHUNK_BYTES ? left : CHUNK_BYTES);
	if (got == 0 && ask.length == 0)
		return -1;
	*copied += got > 0 ? (size_t)got : 0;
	return ask.length;
}

static void receive(const char *port, int map)
{
	size_t copied = 0;
	size_t mapped = 0;
	struct rusage used;
	int fd = connection_accept(port);
	void *buffer = aligned_alloc(4096, CHUNK_BYTES);
	void *pages = map ? mmap(NULL, CHUNK_BYTES, PROT_READ, MAP_SHARED, fd, 0) : NULL;
	if (buffer == NULL || pages == MAP_FAILED)
		die("memory");
	for (;;) {
		ssize_t got =
		    map ? part_map(fd, pages, buffer, &copied) : part_copy(fd, buffer, CHUNK_BYTES);
		if (got < 0 || (got == 0 && !map))
			break;
		*(map ? &mapped : &copied) += (size_t)got;
	}
	(void)getrusage(RUSAGE_SELF, &used);
	(void)printf("{\"bytes\": %zu, \"mapped\": %zu, \"cpu_s\": %.6f}\n", copied + mapped,
		     mapped,
		     (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			 (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6);
}

/* Completions are thrown away: the pages never change. */
static void notes_drop(int fd)
{
	char control[256];
	struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};
	while (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0)
		message.msg_controllen = sizeof(control);
}

static void transmit(const char *host, const char *port, const char *way, double seconds)
{
	const int one = 1;
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)atoi(port))};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int file = memfd_create("payload", MFD_CLOEXEC);
	if (inet_pton(AF_INET, host, &address.sin_addr) != 1 || fd < 0 || file < 0 ||
	    ftruncate(file, (off_t)CHUNK_BYTES) != 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		die("connect");
	char *bytes =
	    mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED || setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) != 0)
		die("memory");
	memset(bytes, 7, CHUNK_BYTES);
	if (write(file, bytes, CHUNK_BYTES) != (ssize_t)CHUNK_BYTES)
		die("write");
	for (double end = now_s() + seconds; now_s() < end;) {
		off_t offset = 0;
		size_t done = 0;
		while (done < CHUNK_BYTES) {
			ssize_t sent = *way == 's' ? sendfile(fd, file, &offset, CHUNK_BYTES - done)
						   : send(fd, bytes + done, CHUNK_BYTES - done,
							  *way == 'z' ? MSG_ZEROCOPY : 0);
			if (sent < 0 && errno != ENOBUFS)
				die("send");
			done += sent > 0 ? (size_t)sent : 0;
		}
		if (*way == 'z')
			notes_drop(fd);
	}
	(void)close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "receive") == 0)
		receive(argv[2], strcmp(argv[3], "map") == 0);
	else if (argc == 6 && strcmp(argv[1], "send") == 0)
		transmit(argv[2], argv[3], argv[4], atof(argv[5]));
	else
		return 2;
	return 0;
}
