/*
 * For bench_engine_window.py, by LD_PRELOAD into a receiver of one stream: what the kernel says has
 * been read of its socket, around the instant at which the time limit is over. Not the engine's
 * count: what came (TCP_INFO) less what is still in the socket (SIOCINQ).
 *
 * COUNTED_NS: the limit; COUNTED_FILE: where a line "nanoseconds after the first byte, bytes" goes
 * for each look.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BEFORE_NS UINT64_C(300000000)
#define AFTER_NS  UINT64_C(5000000)
#define EVERY_NS  250000

static int watched = -1;
static uint64_t first_ns;
static pthread_t watcher;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t now_ns(void)
{
	struct timespec time;
	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *watch(void *argument)
{
	(void)argument;
	uint64_t end_ns = first_ns + strtoull(getenv("COUNTED_NS"), NULL, 10);
	FILE *file = fopen(getenv("COUNTED_FILE"), "w");
	const struct timespec pause = {.tv_nsec = EVERY_NS};
	uint64_t begun_ns = 0;
	/* Before all others, or its looks are far apart on a busy machine. */
	const struct sched_param first = {.sched_priority = 1};
	(void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	/* The last look is behind the end, however late we get our turn. */
	while (file != NULL && begun_ns < end_ns + AFTER_NS) {
		int left = 0;
		struct tcp_info info = {0};
		socklen_t length = sizeof(info);
		(void)nanosleep(&pause, NULL);
		begun_ns = now_ns();
		if (begun_ns + BEFORE_NS < end_ns)
			continue;
		if (getsockopt(watched, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
		    ioctl(watched, SIOCINQ, &left) != 0)
			break;
		uint64_t ended_ns = now_ns();
		uint64_t read = info.tcpi_bytes_received - (uint64_t)left;
		(void)fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			      (begun_ns + ended_ns) / 2 - first_ns, ended_ns - begun_ns, read);
	}
	if (file != NULL)
		(void)fclose(file);
	return NULL;
}

static void begin(void)
{
	if (pthread_create(&watcher, NULL, watch, NULL) != 0)
		abort();
}

/* The session's process may be over before the last look. */
__attribute__((destructor)) static void finish(void)
{
	if (first_ns != 0)
		(void)pthread_join(watcher, NULL);
}

static ssize_t seen(int fd, ssize_t got)
{
	int error = errno;
	/* The main thread reads the control connection; the stream has one of its own. */
	if (got > 0 && gettid() != getpid() && watched < 0)
		watched = dup(fd); /* it can be asked when the engine has closed its own */
	errno = error;
	return got;
}

/* The engine's own look at the clock when the first bytes have come: its time begins there. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
	int (*real)(clockid_t, struct timespec *) =
	    (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int status = real(clock, time);
	if (clock == CLOCK_MONOTONIC && watched >= 0 && first_ns == 0 && gettid() != getpid()) {
		first_ns = (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
		(void)pthread_once(&once, begin);
	}
	return status;
}

ssize_t recv(int fd, void *bytes, size_t count, int flags)
{
	ssize_t (*real)(int, void *, size_t, int) =
	    (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
	return seen(fd, real(fd, bytes, count, flags));
}

/* The same where _FORTIFY_SOURCE knows how large the memory is. */
ssize_t __recv_chk(int fd, void *bytes, size_t count, size_t room, int flags)
{
	ssize_t (*real)(int, void *, size_t, size_t, int) =
	    (ssize_t(*)(int, void *, size_t, size_t, int))dlsym(RTLD_NEXT, "__recv_chk");
	return seen(fd, real(fd, bytes, count, room, flags));
}
