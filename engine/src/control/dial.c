#include "control/dial.h"

#include "base/clock.h"
#include "net/net.h"
#include "net/resolve.h"
#include "net/tune.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* Waits for one nonblocking connect. 0 or a positive errno; EINTR when interrupted. */
static int connect_finish(struct waiter *waiter, int fd, uint64_t timeout_ns, int *signal)
{
	struct failure ignored = {0};
	int error =
	    waiter_arm(waiter, clock_monotonic_ns() + timeout_ns, &ignored) == 0 ? 0 : EINVAL;
	waiter_watch(waiter, SLOT_CONTROL, fd, POLLOUT);
	while (error == 0 && !waiter_ready(waiter, SLOT_CONTROL)) {
		if (waiter_wait(waiter, &ignored) != 0)
			error = EINVAL;
		else if (waiter_ready(waiter, SLOT_SIGNAL))
			error = EINTR;
		else if (waiter_ready(waiter, SLOT_TIMER))
			error = ETIMEDOUT;
	}
	if (error == EINTR)
		*signal = waiter_take_signal(waiter);
	waiter_forget(waiter, SLOT_CONTROL);
	(void)waiter_disarm(waiter, &ignored);
	return error != 0 ? error : net_connect_status(fd);
}

/* --bind and --bind-device hold for the control connection too: its peer is the data's. */
static int way_choose(const struct dial *dial, int fd, const struct address *address,
		      struct failure *failure)
{
	if (dial->device != NULL && tune_device(fd, dial->device, failure) != 0)
		return -1;
	return dial->bind != NULL ? net_bind_source(fd, dial->bind, address, failure) : 0;
}

/* A connected socket; -1 with *failure set to why this address did not do. */
static int address_connect(struct waiter *waiter, const struct dial *dial,
			   const struct addrinfo *entry, int *signal, struct failure *failure)
{
	char text[ADDRESS_TEXT_BYTES];
	struct address address = {.length = entry->ai_addrlen};
	memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
	int fd = net_socket(&address, failure);
	if (fd < 0)
		return -1;
	int error = 0;
	if (way_choose(dial, fd, &address, failure) == 0 &&
	    net_connect(fd, &address, failure) == 0 &&
	    (error = connect_finish(waiter, fd, dial->timeout_ns, signal)) == 0)
		return fd;
	net_address_text(&address, text);
	if (*signal != 0)
		(void)failure_set(failure, "interrupted by %s", signal_name(*signal));
	(void)failure_set_errno(failure, error, "cannot connect to %s", text);
	(void)close(fd);
	return -1;
}

struct control *control_dial(struct waiter *waiter, const struct dial *dial, int *signal,
			     struct failure *failure)
{
	struct addrinfo *list;
	struct failure first = {0};
	int fd = -1;
	*signal = 0;
	if (net_resolve(dial->host, dial->port, dial->family, &list, &first) != 0) {
		*signal = waiter_take_signal(waiter);
		(void)failure_set(failure, *signal != 0 ? "interrupted by %s" : "%s",
				  *signal != 0 ? signal_name(*signal) : first.text);
		return NULL;
	}
	for (struct addrinfo *entry = list; entry != NULL && fd < 0 && *signal == 0;
	     entry = entry->ai_next)
		fd = address_connect(waiter, dial, entry, signal, &first);
	freeaddrinfo(list);
	if (fd < 0) {
		(void)failure_set(failure, "%s", first.text);
		return NULL;
	}
	struct control *control = control_create(fd, failure);
	if (control != NULL)
		control_expect_challenge(control);
	return control;
}
