#include "server/port.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/notify.h"
#include "net/net.h"
#include "net/tune.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define DEAF_NS (100 * NS_PER_MS)

int port_open(struct port *port, const char *host, uint16_t number, struct failure *failure)
{
	*port = (struct port){.listener = notify_listener(failure)};
	if (port->listener == -1)
		port->listener = net_listen_on(host, number, failure);
	if (port->listener < 0)
		return -1;
	port->flexible = tune_can_unlock(port->listener);
	port->ceiling_bytes = sysctl_last("/proc/sys/net/ipv4/tcp_rmem");
	return tune_buffer(port->listener, TUNE_RECEIVE, &port->default_bytes, failure);
}

int port_accept(struct port *port, struct address *peer)
{
	int fd = net_accept(port->listener, peer);
	if (fd >= 0 || errno == EAGAIN) {
		port->deaf_until_ns = 0;
		return fd;
	}
	if (port->deaf_until_ns == 0)
		log_event("error", NULL, "Error: no connection can be taken: %s", strerror(errno));
	port->deaf_until_ns = clock_monotonic_ns() + DEAF_NS;
	return -1;
}

int port_listener(const struct port *port)
{
	return port->deaf_until_ns > clock_monotonic_ns() ? -1 : port->listener;
}

uint64_t port_wakes_ns(const struct port *port)
{
	return port->deaf_until_ns > clock_monotonic_ns() ? port->deaf_until_ns : UINT64_MAX;
}

void port_close(struct port *port)
{
	if (port->listener < 0)
		return;
	/* A service manager's socket outlives us. */
	port_set_window(port, 0, false);
	(void)close(port->listener);
	port->listener = -1;
}

void port_set_window(struct port *port, uint64_t window_bytes, bool autotuned)
{
	/* What fails here, the session sees in its own sockets, and tells its client. */
	struct failure ignored = {0};
	uint64_t granted = 0;
	if (window_bytes == port->window_bytes && autotuned == port->autotuned)
		return;
	port->window_bytes = window_bytes;
	port->autotuned = autotuned;
	if (window_bytes != 0 &&
	    tune_window(port->listener, TUNE_RECEIVE, window_bytes, &ignored) == 0)
		(void)tune_buffer(port->listener, TUNE_RECEIVE, &granted, &ignored);
	/* Without a window the scale does for the ceiling; half of a buffer is overhead. */
	if (window_bytes == 0 || (autotuned && granted / 2 < port->ceiling_bytes))
		(void)tune_unlock(port->listener, port->default_bytes, &ignored);
}

void port_disinherit(const struct port *port, int fd)
{
	struct failure ignored = {0};
	uint64_t bytes = 0;
	if (tune_buffer(fd, TUNE_RECEIVE, &bytes, &ignored) == 0 && bytes != port->default_bytes &&
	    tune_is_locked(fd))
		(void)tune_unlock(fd, port->default_bytes, &ignored);
}
