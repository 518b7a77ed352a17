#include "control/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for the one descriptor, aligned as the kernel wants it. */
union rights {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int channel_open(int ends[2], struct failure *failure)
{
	/* Whole messages, and an end that is seen: a pipe has no descriptors, datagrams no end. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
		return failure_set_errno(failure, errno, "socketpair");
	return 0;
}

void channel_say(int channel, enum channel_word word)
{
	char byte = (char)word;
	/* If it fails the server learns it from our end. */
	ssize_t sent = send(channel, &byte, 1, MSG_NOSIGNAL);
	(void)sent;
}

int channel_hear(int channel)
{
	char byte;
	ssize_t got;
	do {
		got = recv(channel, &byte, 1, 0);
	} while (got < 0 && errno == EINTR);
	if (got > 0)
		return byte;
	/* Connections that it did not take before it went are an error here. */
	return got < 0 && errno == EAGAIN ? 0 : -1;
}

bool channel_give(int channel, int fd, const struct handover *handover)
{
	union rights rights = {0};
	struct handover copy = *handover;
	struct iovec part = {.iov_base = &copy, .iov_len = sizeof(copy)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = rights.bytes,
				 .msg_controllen = sizeof(rights.bytes)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	ssize_t sent;
	do {
		sent = sendmsg(channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)sizeof(copy);
}

int channel_take(int channel, struct handover *handover)
{
	int fd = -1;
	union rights rights = {0};
	struct iovec part = {.iov_base = handover, .iov_len = sizeof(*handover)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = rights.bytes,
				 .msg_controllen = sizeof(rights.bytes)};
	ssize_t got;
	do {
		got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header != NULL && header->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	if (fd >= 0 || got < 0)
		return fd;
	/* Without a descriptor: we have no more of them free. */
	errno = got == 0 ? EPIPE : EMFILE;
	return -1;
}
