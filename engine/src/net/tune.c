#include "net/tune.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Of asm-generic/socket.h and linux/socket.h, which are younger than some C libraries. */
#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72
#endif
#ifndef SOCK_RCVBUF_LOCK
#define SOCK_RCVBUF_LOCK 2
#endif

#define LARGEST_WINDOW_BYTES (UINT64_C(65535) << 14) /* RFC 7323 section 2.3 */

static const int plain_options[] = {[TUNE_SEND] = SO_SNDBUF, [TUNE_RECEIVE] = SO_RCVBUF};
static const int force_options[] = {[TUNE_SEND] = SO_SNDBUFFORCE, [TUNE_RECEIVE] = SO_RCVBUFFORCE};
static const char *const option_names[] = {[TUNE_SEND] = "SO_SNDBUF", [TUNE_RECEIVE] = "SO_RCVBUF"};

int tune_buffer(int fd, enum tune_side side, uint64_t *bytes, struct failure *failure)
{
	int value = 0;
	socklen_t length = sizeof(value);
	if (getsockopt(fd, SOL_SOCKET, plain_options[side], &value, &length) != 0)
		return failure_set_errno(failure, errno, "getsockopt %s", option_names[side]);
	*bytes = (uint64_t)value;
	return 0;
}

int tune_window(int fd, enum tune_side side, uint64_t asked_bytes, struct failure *failure)
{
	uint64_t granted = 0;
	/* The kernel doubles an int. */
	int value = asked_bytes > INT_MAX / 2 ? INT_MAX / 2 : (int)asked_bytes;
	if (setsockopt(fd, SOL_SOCKET, plain_options[side], &value, sizeof(value)) != 0)
		return failure_set_errno(failure, errno, "setsockopt %s", option_names[side]);
	if (tune_buffer(fd, side, &granted, failure) != 0)
		return -1;
	if (granted >= 2 * (uint64_t)value)
		return 0;
	/* Without CAP_NET_ADMIN this is refused; what was granted stays and is reported. */
	if (setsockopt(fd, SOL_SOCKET, force_options[side], &value, sizeof(value)) != 0 &&
	    errno != EPERM)
		return failure_set_errno(failure, errno, "setsockopt %sFORCE", option_names[side]);
	return 0;
}

int tune_window_clamp(int fd, uint64_t bytes, struct failure *failure)
{
	int value = bytes > INT_MAX ? INT_MAX : (int)bytes;
	if (setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &value, sizeof(value)) != 0)
		return failure_set_errno(failure, errno, "setsockopt TCP_WINDOW_CLAMP");
	return 0;
}

static bool locks_read(int fd, int *locks)
{
	socklen_t length = sizeof(*locks);
	return getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, locks, &length) == 0;
}

bool tune_can_unlock(int fd)
{
	int locks = 0;
	return locks_read(fd, &locks);
}

bool tune_is_locked(int fd)
{
	int locks = 0;
	return locks_read(fd, &locks) && (locks & SOCK_RCVBUF_LOCK) != 0;
}

/*
 * Newer kernels (7.3 does, 6.12 does not) let SO_RCVBUF clamp the window, too, and a connection
 * takes its window scale from the clamp of the socket that accepted it: without this it could never
 * grow beyond the default.
 */
static int listener_unclamp(int fd, struct failure *failure)
{
	int listening = 0;
	int clamp = 0;
	socklen_t length = sizeof(listening);
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0)
		return failure_set_errno(failure, errno, "getsockopt SO_ACCEPTCONN");
	length = sizeof(clamp);
	if (getsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &clamp, &length) != 0)
		return failure_set_errno(failure, errno, "getsockopt TCP_WINDOW_CLAMP");
	return listening && clamp != 0 ? tune_window_clamp(fd, LARGEST_WINDOW_BYTES, failure) : 0;
}

int tune_unlock(int fd, uint64_t bytes, struct failure *failure)
{
	int locks = 0;
	/* The kernel doubles it. */
	if (tune_window(fd, TUNE_RECEIVE, bytes / 2, failure) != 0)
		return -1;
	if (!locks_read(fd, &locks))
		return failure_set_errno(failure, errno, "getsockopt SO_BUF_LOCK");
	locks &= ~SOCK_RCVBUF_LOCK;
	if (setsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &locks, sizeof(locks)) != 0)
		return failure_set_errno(failure, errno, "setsockopt SO_BUF_LOCK");
	return listener_unclamp(fd, failure);
}

int tune_low_water(int fd, uint64_t bytes, struct failure *failure)
{
	int value = bytes > INT_MAX ? INT_MAX : (int)bytes;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof(value)) != 0)
		return failure_set_errno(failure, errno, "setsockopt SO_RCVLOWAT");
	return 0;
}

void sysctl_read(const char *path, char *text, size_t size)
{
	text[0] = '\0';
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return;
	if (fgets(text, (int)size, file) == NULL)
		text[0] = '\0';
	(void)fclose(file);
	text[strcspn(text, "\n")] = '\0';
}

bool congestion_of_stream(const char *list, unsigned index, char name[CONGESTION_NAME_BYTES])
{
	unsigned count = 1;
	if (list == NULL)
		return false;
	for (const char *c = list; *c != '\0'; c++)
		count += *c == ',' ? 1 : 0;
	for (index %= count; index > 0; index--)
		list = strchr(list, ',') + 1;
	size_t length = strcspn(list, ",");
	if (length == 0 || length >= CONGESTION_NAME_BYTES)
		return false;
	memcpy(name, list, length);
	name[length] = '\0';
	return true;
}

int tune_congestion(int fd, const char *name, struct failure *failure)
{
	char list[256];
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0)
		return 0;
	int error = errno;
	if (error == EPERM) {
		sysctl_read("/proc/sys/net/ipv4/tcp_allowed_congestion_control", list,
			    sizeof(list));
		return failure_set(failure,
				   "congestion control '%s' is for root only here; allowed: %s "
				   "(sysctl net.ipv4.tcp_allowed_congestion_control)",
				   name, list);
	}
	sysctl_read("/proc/sys/net/ipv4/tcp_available_congestion_control", list, sizeof(list));
	if (error == ENOENT)
		return failure_set(failure,
				   "congestion control '%s' is not available; available: %s "
				   "(modprobe tcp_%s may add it)",
				   name, list, name);
	return failure_set_errno(failure, error, "congestion control '%s' (available: %s)", name,
				 list);
}

void tune_congestion_name(int fd, char name[CONGESTION_NAME_BYTES])
{
	socklen_t length = CONGESTION_NAME_BYTES - 1;
	memset(name, 0, CONGESTION_NAME_BYTES);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) != 0)
		(void)snprintf(name, CONGESTION_NAME_BYTES, "unknown");
}

int tune_dscp(int fd, unsigned code_point, struct failure *failure)
{
	int family = AF_INET;
	socklen_t length = sizeof(family);
	int value = (int)code_point << 2; /* the two bits below are ECN's */
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length) != 0)
		return failure_set_errno(failure, errno, "getsockopt SO_DOMAIN");
	if (family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &value, sizeof(value)) != 0)
		return failure_set_errno(failure, errno, "setsockopt IPV6_TCLASS");
	/* An IPv6 socket may carry IPv4. */
	if (setsockopt(fd, IPPROTO_IP, IP_TOS, &value, sizeof(value)) != 0 && family == AF_INET)
		return failure_set_errno(failure, errno, "setsockopt IP_TOS");
	return 0;
}

int tune_mss(int fd, unsigned bytes, struct failure *failure)
{
	int value = (int)bytes;
	if (setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &value, sizeof(value)) != 0)
		return failure_set_errno(failure, errno, "setsockopt TCP_MAXSEG");
	return 0;
}

uint32_t tune_mss_read(int fd)
{
	int value = 0;
	socklen_t length = sizeof(value);
	if (getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &value, &length) != 0 || value < 0)
		return 0;
	return (uint32_t)value;
}

int tune_device(int fd, const char *device, struct failure *failure)
{
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device)) != 0)
		return failure_set_errno(failure, errno, "--bind-device: '%s'", device);
	return 0;
}

/* Of linux/in.h, which is younger than some C libraries'. */
static bool is_multipath(int fd)
{
	int protocol = 0;
	socklen_t length = sizeof(protocol);
	return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 &&
	       protocol == IPPROTO_MPTCP;
}

int tune_notsent(int fd, uint64_t bytes, struct failure *failure)
{
	uint32_t value = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &value, sizeof(value)) != 0)
		return failure_set_errno(failure, errno, "setsockopt TCP_NOTSENT_LOWAT");
	return 0;
}

int tune_pacing(int fd, uint64_t bits_per_second, struct failure *failure)
{
	/* Bytes per second; 64 bits wide since Linux 4.20, or 34 Gbit/s would be the end. */
	uint64_t value = bits_per_second / 8;
	if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof(value)) == 0)
		return 0;
	if (errno == EOPNOTSUPP && is_multipath(fd))
		return failure_set(
		    failure,
		    "--mptcp cannot be paced, and %.6g Mbit/s are asked for (--pacing, "
		    "--pacing-total, or the server's --max-rate): this kernel has no "
		    "SO_MAX_PACING_RATE for MPTCP",
		    (double)bits_per_second / 1e6);
	return failure_set_errno(failure, errno, "setsockopt SO_MAX_PACING_RATE");
}

uint64_t sysctl_last(const char *path)
{
	char text[64];
	sysctl_read(path, text, sizeof(text));
	const char *last = strrchr(text, '\t');
	return strtoull(last != NULL ? last : text, NULL, 10);
}
