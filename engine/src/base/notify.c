#include "base/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_FDS_START 3

void notify_send(const char *state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length = path != NULL ? strlen(path) : 0;
	if (length == 0 || length >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(address.sun_path, path, length);
	/* "@" stands for the NUL of the abstract name space. */
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* A manager that does not listen is its own trouble; we serve all the same. */
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	(void)close(fd);
}

static int listener_check(int fd, struct failure *failure)
{
	static const char socket_name[] = "the socket of the service manager";
	int listening = 0;
	socklen_t length = sizeof(listening);
	struct sockaddr_storage address = {0};
	socklen_t size = sizeof(address);
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) != 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
		(void)failure_set_errno(failure, errno, "%s", socket_name);
	else if (listening == 0 || (address.ss_family != AF_INET && address.ss_family != AF_INET6))
		(void)failure_set(failure,
				  "%s does not listen for TCP connections "
				  "(ListenStream=PORT)",
				  socket_name);
	return failure->set ? -2 : fd;
}

int notify_listener(struct failure *failure)
{
	const char *pid = getenv("LISTEN_PID");
	const char *count = getenv("LISTEN_FDS");
	/* Meant for this very process, not for one that it was started by. */
	if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != (long)getpid())
		return -1;
	if (strcmp(count, "1") != 0) {
		(void)failure_set(failure, "the service manager passed %s sockets: one is wanted",
				  count);
		return -2;
	}
	return listener_check(LISTEN_FDS_START, failure);
}
