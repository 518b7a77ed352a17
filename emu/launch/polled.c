// A library before libc's, for programs that ask each of many sockets each time they wake, as Open
// vSwitch's do: what poll has just said of a descriptor is not asked again, and what has come is
// taken by one call.
//
// A system call is the costliest thing in a guest: two switches of processes on the host. Open
// vSwitch's program and its controller ask every socket of every bridge after each poll, though
// poll has told which have something, and take each message by three calls. Here accept, recv,
// recvmsg and read answer EAGAIN by themselves if this thread's last poll asked for input of that
// descriptor and found none; what has come since is told by the next poll, which returns at once.
// recv and recvmsg take all that waits and keep what was not asked for, of which poll tells like of
// what waits. A poll of one descriptor is a question aside, after which the others' answers still
// hold, a few times in a row; one that neither asks nor waits is none. And what does not change in
// a guest where computing takes no time is asked once: processors, and the processor time of a
// thread.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS = 4096, AHEAD_BYTES = 16384, ANSWERED = 3 }; // those beyond are always asked
enum {
	MESSAGES = 16,
	BESIDE_BYTES = 64,
	MESSAGE_BYTES = 66560
};                                                   // a packet, and what is told of it
enum kind { UNKNOWN, BLOCKS, NEVER_BLOCKS, STREAM }; // a STREAM never blocks either

struct ahead {
	size_t begin, end; // what of the data was not yet asked for
	char data[AHEAD_BYTES];
};

struct messages {                // of netlink
	unsigned int begin, end; // those that were not yet asked for
	struct {
		unsigned int bytes, beside_bytes;
		int flags;
		char beside[BESIDE_BYTES], data[MESSAGE_BYTES];
	} each[MESSAGES];
};

static _Atomic uint64_t polls;              // made so far, by all threads
static _Thread_local uint64_t last_poll;    // the number of this thread's last one; 0: none
static _Thread_local unsigned int answered; // polls since then that were not made
static _Thread_local unsigned int asides;   // polls of one descriptor since then
static _Atomic uint64_t empty[DESCRIPTORS]; // number of the last poll after which it had no input
static _Atomic enum kind kinds[DESCRIPTORS];
static _Atomic(struct ahead *) aheads[DESCRIPTORS];
static _Atomic uint64_t told[DESCRIPTORS]; // number of the last poll which told that it had input
static _Atomic(struct messages *) queues[DESCRIPTORS];
static _Atomic enum { UNASKED, NETLINK, OTHER } families[DESCRIPTORS];

static bool is_known(int descriptor)
{
	return descriptor >= 0 && descriptor < DESCRIPTORS;
}

static enum kind kind_of(int descriptor)
{
	if (kinds[descriptor] == UNKNOWN) {
		int type = 0;
		socklen_t size = sizeof(type);

		if ((fcntl(descriptor, F_GETFL) & O_NONBLOCK) == 0)
			kinds[descriptor] = BLOCKS;
		else if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
			 type == SOCK_STREAM)
			kinds[descriptor] = STREAM;
		else
			kinds[descriptor] = NEVER_BLOCKS;
	}
	return kinds[descriptor];
}

// Whether the answer is EAGAIN, which is then set.
static bool is_empty(int descriptor, int flags)
{
	if (!is_known(descriptor) || last_poll == 0 || empty[descriptor] != last_poll)
		return false;
	if ((flags & MSG_DONTWAIT) == 0 && kind_of(descriptor) == BLOCKS)
		return false;
	errno = EAGAIN;
	return true;
}

// Remember an answer of EAGAIN, until the next poll.
static ssize_t noted(int descriptor, ssize_t answer)
{
	if (answer < 0 && errno == EAGAIN && is_known(descriptor))
		empty[descriptor] = last_poll;
	return answer;
}

static struct ahead *ahead_of(int descriptor)
{
	struct ahead *ahead = is_known(descriptor) ? aheads[descriptor] : NULL;

	return ahead && ahead->begin < ahead->end ? ahead : NULL;
}

static struct messages *queue_of(int descriptor)
{
	struct messages *queue = is_known(descriptor) ? queues[descriptor] : NULL;

	return queue && queue->begin < queue->end ? queue : NULL;
}

static bool is_netlink(int descriptor)
{
	if (families[descriptor] == UNASKED) {
		int domain = 0;
		socklen_t size = sizeof(domain);

		families[descriptor] =
		    getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
			    domain == AF_NETLINK
			? NETLINK
			: OTHER;
	}
	return families[descriptor] == NETLINK;
}

static ssize_t take_message(struct messages *queue, struct msghdr *message)
{
	unsigned int at = queue->begin++;
	size_t taken = 0;

	for (size_t i = 0; i < message->msg_iovlen; i++) {
		struct iovec *part = &message->msg_iov[i];
		size_t size = queue->each[at].bytes - taken;

		if (size > part->iov_len)
			size = part->iov_len;
		memcpy(part->iov_base, queue->each[at].data + taken, size);
		taken += size;
	}
	message->msg_flags = queue->each[at].flags;
	if (taken < queue->each[at].bytes)
		message->msg_flags |= MSG_TRUNC;
	if (message->msg_controllen > queue->each[at].beside_bytes)
		message->msg_controllen = queue->each[at].beside_bytes;
	if (message->msg_controllen)
		memcpy(message->msg_control, queue->each[at].beside, message->msg_controllen);
	return (ssize_t)taken;
}

// Take what was asked for, and what waits behind it.
static ssize_t receive_messages(int descriptor, struct messages *queue, struct msghdr *message)
{
	struct mmsghdr all[1 + MESSAGES] = {{.msg_hdr = *message}};
	struct iovec parts[MESSAGES];
	int found;

	for (int i = 0; i < MESSAGES; i++) {
		parts[i] = (struct iovec){queue->each[i].data, MESSAGE_BYTES};
		all[1 + i].msg_hdr = (struct msghdr){.msg_iov = &parts[i],
						     .msg_iovlen = 1,
						     .msg_control = queue->each[i].beside,
						     .msg_controllen = BESIDE_BYTES};
	}
	found = (int)syscall(SYS_recvmmsg, descriptor, all, 1 + MESSAGES, MSG_DONTWAIT, NULL);
	if (found <= 0)
		return noted(descriptor, found);
	*message = all[0].msg_hdr;
	queue->begin = 0;
	queue->end = (unsigned int)found - 1;
	for (int i = 0; i < found - 1; i++) {
		queue->each[i].bytes = all[1 + i].msg_len;
		queue->each[i].beside_bytes = (unsigned int)all[1 + i].msg_hdr.msg_controllen;
		queue->each[i].flags = all[1 + i].msg_hdr.msg_flags;
	}
	if (found <= MESSAGES)
		empty[descriptor] = last_poll;
	return (ssize_t)all[0].msg_len;
}

static ssize_t take(struct ahead *ahead, void *data, size_t size)
{
	size_t left = ahead->end - ahead->begin;

	if (size > left)
		size = left;
	memcpy(data, ahead->data + ahead->begin, size);
	ahead->begin += size;
	return (ssize_t)size;
}

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are reserved ones
int poll(struct pollfd *descriptors, nfds_t count, int timeout_ms)
{
	bool kept = false;
	bool asks = count == 1 || answered > 0; // many may be told that nothing has come, once
	int found;

	for (nfds_t i = 0; i < count; i++) {
		struct pollfd *each = &descriptors[i];

		kept =
		    kept || (each->events & POLLIN && (ahead_of(each->fd) || queue_of(each->fd)));
		if (count == 1)
			asks = answered == ANSWERED || !is_empty(each->fd, MSG_DONTWAIT);
		asks = asks || each->events != POLLIN;
		each->revents = 0;
	}
	if (timeout_ms == 0 && !kept && !asks && last_poll) {
		answered++;
		return 0;
	}
	found = (int)syscall(SYS_poll, descriptors, count, kept ? 0 : timeout_ms);
	answered = timeout_ms == 0; // what was just asked without waiting is asked again
	asides = count == 1 && last_poll && asides < ANSWERED ? asides + 1 : 0;
	if (!asides)
		last_poll = ++polls;
	for (nfds_t i = 0; found >= 0 && i < count; i++) {
		struct pollfd *each = &descriptors[i];

		if ((each->events & POLLIN) == 0 || !is_known(each->fd))
			continue;
		if (ahead_of(each->fd) || queue_of(each->fd)) {
			found += each->revents == 0;
			each->revents |= POLLIN;
		} else {
			empty[each->fd] = each->revents ? 0 : last_poll;
			told[each->fd] = each->revents ? last_poll : 0;
		}
	}
	return found;
}

int accept(int descriptor, __SOCKADDR_ARG address, socklen_t *length)
{
	return is_empty(descriptor, 0)
		   ? -1
		   : (int)noted(descriptor,
				syscall(SYS_accept, descriptor, address.__sockaddr__, length));
}

ssize_t recv(int descriptor, void *data, size_t size, int flags)
{
	struct ahead *ahead = ahead_of(descriptor);
	ssize_t taken;

	if (ahead)
		return take(ahead, data, size);
	if (is_empty(descriptor, flags))
		return -1;
	if (flags || size == 0 || size >= AHEAD_BYTES || !is_known(descriptor) ||
	    kind_of(descriptor) != STREAM)
		return syscall(SYS_recvfrom, descriptor, data, size, flags, NULL, NULL);
	ahead = aheads[descriptor];
	if (!ahead) {
		ahead = calloc(1, sizeof(*ahead));
		if (!ahead)
			return syscall(SYS_recvfrom, descriptor, data, size, flags, NULL, NULL);
		aheads[descriptor] = ahead;
	}
	taken = syscall(SYS_recvfrom, descriptor, ahead->data, AHEAD_BYTES, 0, NULL, NULL);
	if (taken <= 0)
		return taken;
	if (taken < AHEAD_BYTES)
		empty[descriptor] = last_poll;
	ahead->begin = 0;
	ahead->end = (size_t)taken;
	return take(ahead, data, size);
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags)
{
	struct messages *queue = queue_of(descriptor);

	if (queue)
		return take_message(queue, message);
	if (is_empty(descriptor, flags))
		return -1;
	if (flags == MSG_DONTWAIT && is_known(descriptor) && last_poll &&
	    told[descriptor] == last_poll && !message->msg_name &&
	    message->msg_controllen <= BESIDE_BYTES && is_netlink(descriptor)) {
		queue = queues[descriptor];
		if (!queue)
			queues[descriptor] = queue = calloc(1, sizeof(*queue));
		if (queue)
			return receive_messages(descriptor, queue, message);
	}
	return noted(descriptor, syscall(SYS_recvmsg, descriptor, message, flags));
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
	if (is_known(descriptor))
		empty[descriptor] = 0; // netlink answers at once
	return syscall(SYS_sendmsg, descriptor, message, flags);
}

ssize_t read(int descriptor, void *data, size_t size)
{
	struct ahead *ahead = ahead_of(descriptor);

	if (ahead)
		return take(ahead, data, size);
	return is_empty(descriptor, 0)
		   ? -1
		   : noted(descriptor, syscall(SYS_read, descriptor, data, size));
}

int close(int descriptor)
{
	if (is_known(descriptor)) { // the next one of that number is another one
		free(atomic_exchange(&aheads[descriptor], NULL));
		free(atomic_exchange(&queues[descriptor], NULL));
		empty[descriptor] = told[descriptor] = 0;
		families[descriptor] = UNASKED;
		kinds[descriptor] = UNKNOWN;
	}
	return (int)syscall(SYS_close, descriptor);
}

long sysconf(int name)
{
	static long (*ask)(int);
	static long processors;

	if (!ask) {
		void *found = dlsym(RTLD_NEXT, "sysconf");

		memcpy(&ask, &found, sizeof(ask)); // ISO C has no conversion of it
	}
	if (name != _SC_NPROCESSORS_CONF)
		return ask(name);
	if (processors == 0)
		processors = ask(name);
	return processors;
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
	static _Thread_local struct rusage first;
	static _Thread_local bool asked;

	if (who != RUSAGE_THREAD)
		return (int)syscall(SYS_getrusage, who, usage);
	if (!asked && syscall(SYS_getrusage, who, &first) < 0)
		return -1;
	asked = true;
	*usage = first;
	return 0;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
