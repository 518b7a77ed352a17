#include "payload/sending.h"

#include <errno.h>
#include <liburing.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Below that the set-up of anything costs more than a copy (msg_zerocopy.rst says some 10 KB). */
#define SMALL_BYTES (UINT64_C(1) << 20)

static const char *const way_names[SEND_METHODS] = {
    [SEND_AUTO] = "auto",     [SEND_WRITE] = "write",       [SEND_SENDFILE] = "sendfile",
    [SEND_SPLICE] = "splice", [SEND_ZEROCOPY] = "zerocopy", [SEND_URING] = "io_uring",
};

const char *send_method_name(enum send_method way)
{
	return way_names[way];
}

bool send_method_parse(const char *name, enum send_method *way)
{
	for (unsigned known = 0; known < SEND_METHODS; known++) {
		if (strcmp(name, way_names[known]) == 0) {
			*way = (enum send_method)known;
			return true;
		}
	}
	return false;
}

enum send_method send_method_choose(const struct sending_facts *facts, char *why, size_t size)
{
	const char *device = facts->device != NULL ? facts->device : "unknown";
	if (facts->asked != SEND_AUTO) {
		(void)snprintf(why, size, "asked for");
		return facts->asked;
	}
	if (facts->bytes != 0 && facts->bytes < SMALL_BYTES) {
		(void)snprintf(why, size, "less than 1 MiB: a copy costs less than its avoidance");
		return SEND_WRITE;
	}
	if (facts->kernel_seals) {
		(void)snprintf(why, size, "%s",
			       facts->made ? "blocks are made on the way, and the kernel makes "
					     "records of what is written"
					   : "the payload is a sealed file: the kernel makes "
					     "records of its pages, which nobody copies");
		return facts->made ? SEND_WRITE : SEND_SENDFILE;
	}
	if (!facts->made && facts->huge) {
		(void)snprintf(
		    why, size,
		    "the payload lies in huge pages and never changes: through a pipe they "
		    "are sent without a copy, with little work per page");
		return SEND_SPLICE;
	}
	if (!facts->made && facts->calls_dear) {
		(void)snprintf(why, size,
			       "the payload is a sealed file, and system calls are dear in User "
			       "Mode Linux: one sends megabytes of its pages");
		return SEND_SENDFILE;
	}
	if (!facts->made) {
		(void)snprintf(why, size,
			       "the payload is a sealed file: through a pipe its pages are sent "
			       "without a copy, a whole packet at a time");
		return SEND_SPLICE;
	}
	if (facts->device_copies) {
		(void)snprintf(why, size,
			       "blocks are made on the way, and device %s would copy them anyhow",
			       device);
		return SEND_WRITE;
	}
	if (!facts->zerocopy_there) {
		(void)snprintf(why, size,
			       "blocks are made on the way, and this kernel has no "
			       "MSG_ZEROCOPY");
		return SEND_WRITE;
	}
	(void)snprintf(why, size,
		       "blocks are made on the way, and device %s can send them from where they "
		       "are",
		       device);
	return SEND_ZEROCOPY;
}

static int zerocopy_check(struct failure *failure)
{
	const int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0)
		fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);
	if (fd < 0)
		return failure_set_errno(failure, errno, "socket");
	int error = setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) != 0 ? errno : 0;
	(void)close(fd);
	if (error != 0)
		return failure_set_errno(failure, error,
					 "--send zerocopy: this kernel has no MSG_ZEROCOPY "
					 "(Linux 4.14 or later)");
	return 0;
}

static int uring_check(struct failure *failure)
{
	struct io_uring ring;
	int error = -io_uring_queue_init(2, &ring, 0);
	if (error == EPERM || error == EACCES)
		return failure_set(failure, "--send io_uring: this process may not use io_uring "
					    "(sysctl kernel.io_uring_disabled, or a container's "
					    "seccomp profile); --send zerocopy needs no ring");
	if (error == ENOSYS)
		return failure_set(failure, "--send io_uring: this kernel has no io_uring");
	if (error == ENOMEM)
		return failure_set(failure, "--send io_uring: this user may not lock enough memory "
					    "for a ring (ulimit -l)");
	if (error != 0)
		return failure_set_errno(failure, error, "--send io_uring");
	struct io_uring_probe *probe = io_uring_get_probe_ring(&ring);
	bool there = probe != NULL && io_uring_opcode_supported(probe, IORING_OP_SEND_ZC) != 0;
	io_uring_free_probe(probe);
	io_uring_queue_exit(&ring);
	if (!there)
		return failure_set(failure, "--send io_uring: this kernel has no "
					    "IORING_OP_SEND_ZC (Linux 6.0 or later)");
	return 0;
}

int send_method_check(enum send_method way, bool made, struct failure *failure)
{
	if (made && (way == SEND_SENDFILE || way == SEND_SPLICE))
		return failure_set(
		    failure,
		    "--send %s sends a file that is the same all the time; --receive "
		    "verify makes every block: use write, zerocopy or io_uring",
		    send_method_name(way));
	if (way == SEND_ZEROCOPY)
		return zerocopy_check(failure);
	if (way == SEND_URING)
		return uring_check(failure);
	return 0;
}
