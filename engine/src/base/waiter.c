#include "base/waiter.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SLOTS ((unsigned)SLOT_PEERS + PEERS_LIMIT)

struct waiter {
	int signal_fd;
	int timer_fd;
	unsigned used; /* slots below this may be in use */
	struct pollfd slots[SLOTS];
	struct pollfd asked[SLOTS]; /* those in use: poll(2) counts gaps against RLIMIT_NOFILE */
};

static int signal_fd_open(struct failure *failure)
{
	sigset_t set;
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	int status = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (status != 0)
		return failure_set_errno(failure, status, "cannot block signals");
	/* sendfile has no MSG_NOSIGNAL: a closed stream must be an error, not a death. */
	if (sigaction(SIGPIPE, &ignore, NULL) != 0)
		return failure_set_errno(failure, errno, "cannot ignore SIGPIPE");
	/* So must a file beyond RLIMIT_FSIZE. */
	if (sigaction(SIGXFSZ, &ignore, NULL) != 0)
		return failure_set_errno(failure, errno, "cannot ignore SIGXFSZ");
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return failure_set_errno(failure, errno, "signalfd");
	return fd;
}

struct waiter *waiter_create(struct failure *failure)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));
	if (waiter == NULL) {
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	for (unsigned i = 0; i < SLOTS; i++)
		waiter->slots[i].fd = -1;
	waiter->signal_fd = signal_fd_open(failure);
	waiter->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (waiter->timer_fd < 0)
		(void)failure_set_errno(failure, errno, "timerfd");
	if (waiter->signal_fd < 0 || waiter->timer_fd < 0) {
		waiter_destroy(waiter);
		return NULL;
	}
	waiter_watch(waiter, SLOT_SIGNAL, waiter->signal_fd, POLLIN);
	waiter_watch(waiter, SLOT_TIMER, waiter->timer_fd, POLLIN);
	return waiter;
}

void waiter_destroy(struct waiter *waiter)
{
	if (waiter == NULL)
		return;
	if (waiter->signal_fd >= 0)
		(void)close(waiter->signal_fd);
	if (waiter->timer_fd >= 0)
		(void)close(waiter->timer_fd);
	free(waiter);
}

void waiter_watch(struct waiter *waiter, unsigned slot, int fd, short events)
{
	waiter->slots[slot] = (struct pollfd){.fd = fd, .events = events};
	if (slot >= waiter->used)
		waiter->used = slot + 1;
}

void waiter_forget(struct waiter *waiter, unsigned slot)
{
	waiter->slots[slot] = (struct pollfd){.fd = -1};
	while (waiter->used > 0 && waiter->slots[waiter->used - 1].fd < 0)
		waiter->used--;
}

static int timer_set(struct waiter *waiter, uint64_t at_ns, struct failure *failure)
{
	struct itimerspec time = {.it_value = clock_timespec(at_ns)};
	if (timerfd_settime(waiter->timer_fd, TFD_TIMER_ABSTIME, &time, NULL) != 0)
		return failure_set_errno(failure, errno, "timerfd");
	return 0;
}

int waiter_arm(struct waiter *waiter, uint64_t at_ns, struct failure *failure)
{
	/* Zero would disarm. */
	return timer_set(waiter, at_ns != 0 ? at_ns : 1, failure);
}

int waiter_disarm(struct waiter *waiter, struct failure *failure)
{
	return timer_set(waiter, 0, failure);
}

static int slots_poll(struct waiter *waiter, int timeout_ms, struct failure *failure)
{
	int ready;
	nfds_t count = 0;
	for (unsigned i = 0; i < waiter->used; i++) {
		if (waiter->slots[i].fd >= 0)
			waiter->asked[count++] = waiter->slots[i];
	}
	do {
		ready = poll(waiter->asked, count, timeout_ms);
	} while (ready < 0 && errno == EINTR);
	count = 0;
	for (unsigned i = 0; i < waiter->used; i++) {
		if (waiter->slots[i].fd >= 0)
			waiter->slots[i].revents = waiter->asked[count++].revents;
	}
	return ready < 0 ? failure_set_errno(failure, errno, "poll") : 0;
}

int waiter_wait(struct waiter *waiter, struct failure *failure)
{
	return slots_poll(waiter, -1, failure);
}

int waiter_look(struct waiter *waiter, struct failure *failure)
{
	return slots_poll(waiter, 0, failure);
}

bool waiter_ready(const struct waiter *waiter, unsigned slot)
{
	return waiter->slots[slot].revents != 0;
}

int waiter_follow(struct waiter *waiter, const struct waiter_turn *turns, size_t count,
		  void *context, struct failure *failure)
{
	int status = 0;
	bool over = false;
	for (size_t i = 0; i < count; i++) {
		if (turns[i].fd >= 0)
			waiter_watch(waiter, turns[i].slot, turns[i].fd, POLLIN);
	}
	while (!over && (status = waiter_wait(waiter, failure)) == 0) {
		size_t i = 0;
		while (i < count && !waiter_ready(waiter, turns[i].slot))
			i++;
		over = i < count && turns[i].act(context);
	}
	for (size_t i = 0; i < count; i++) {
		if (turns[i].fd >= 0)
			waiter_forget(waiter, turns[i].slot);
	}
	return status;
}

int waiter_take_signal(struct waiter *waiter)
{
	struct signalfd_siginfo information;
	ssize_t got = read(waiter->signal_fd, &information, sizeof(information));
	return got == (ssize_t)sizeof(information) ? (int)information.ssi_signo : 0;
}

const char *signal_name(int number)
{
	switch (number) {
	case SIGINT:
		return "SIGINT";
	case SIGTERM:
		return "SIGTERM";
	case SIGHUP:
		return "SIGHUP";
	default:
		return "a signal";
	}
}
