#include "transfer/stream.h"

#include "base/clock.h"
#include "net/multipath.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

void streams_post(const struct streams *set)
{
	const uint64_t one = 1;
	/* Fails only when 2^64 events are unread. */
	if (write(set->event_fd, &one, sizeof(one)) < 0)
		return;
}

uint64_t streams_begin_ns(const struct streams *set)
{
	uint64_t first_ns = atomic_load(&set->first_ns);
	return first_ns != 0 ? first_ns + set->receiving.omit_ns : 0;
}

uint64_t streams_end_ns(const struct streams *set)
{
	uint64_t begin_ns = streams_begin_ns(set);
	uint64_t duration_ns = set->receiving.duration_ns;
	return begin_ns != 0 && duration_ns != 0 ? begin_ns + duration_ns : UINT64_MAX;
}

bool stream_stopping(const struct stream *stream)
{
	return atomic_load(&stream->set->stopping);
}

const struct sending *stream_sending(const struct stream *stream)
{
	return &stream->set->sending;
}

const struct receiving *stream_receiving(const struct stream *stream)
{
	return &stream->set->receiving;
}

uint64_t stream_waiting(const struct stream *stream)
{
	int there = 0;
	/* MPTCP knows no such question before Linux 5.17. */
	if (ioctl(stream->fd, FIONREAD, &there) != 0 || there < 0)
		return 0;
	return protect_payload(stream->set->protect, (uint64_t)there);
}

/* The others' threads may be at their first read: what they took then, they say (streams_early). */
static void others_look(struct stream *stream)
{
	struct streams *set = stream->set;
	for (unsigned i = 0; i < set->count; i++) {
		struct stream *other = &set->streams[i];
		if (other != stream)
			atomic_store(&other->waiting_bytes, stream_waiting(other));
	}
	atomic_store(&set->looked_ns, clock_monotonic_ns());
}

void stream_report_first(struct stream *stream, uint64_t got, uint64_t now_ns)
{
	uint64_t none = 0;
	atomic_store(&stream->early_bytes, got + stream_waiting(stream));
	atomic_store(&stream->first_ns, now_ns);
	atomic_store(&stream->last_ns, now_ns);
	(void)gate_open(stream->set->gate, now_ns);
	if (atomic_compare_exchange_strong(&stream->set->first_ns, &none, now_ns)) {
		others_look(stream);
		streams_post(stream->set);
	}
}

bool stream_info_read(const struct stream *stream, struct tcp_info *info)
{
	if (stream->set->multipath && multipath_info_read(stream->fd, info))
		return info->subflows != 0;
	return tcp_info_read(stream->fd, info);
}

static void question_answer(struct stream *stream)
{
	struct streams *set = stream->set;
	if (clock_monotonic_ns() < stream->due_ns ||
	    !stream_info_read(stream, &stream->answer.info))
		return;
	if (set->control)
		tcp_info_read_control(stream->fd, &stream->answer.info);
	stream->answer.time_ns = clock_monotonic_ns();
	atomic_store(&stream->asked, false);
	if (atomic_fetch_sub(&set->questions, 1) == 1 && set->answered != NULL)
		set->answered(set->answered_context);
}

void stream_count_call(struct stream *stream)
{
	(void)atomic_fetch_add(&stream->calls, 1);
	if (atomic_load(&stream->asked))
		question_answer(stream);
}

static void parts_advance(struct msghdr *message, size_t count)
{
	while (count > 0 && count >= message->msg_iov->iov_len) {
		count -= message->msg_iov->iov_len;
		message->msg_iov++;
		message->msg_iovlen--;
	}
	if (count > 0) {
		message->msg_iov->iov_base = (uint8_t *)message->msg_iov->iov_base + count;
		message->msg_iov->iov_len -= count;
	}
}

int stream_send_parts(struct stream *stream, struct iovec *parts, size_t count, bool payload)
{
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
	while (message.msg_iovlen > 0) {
		ssize_t sent = sendmsg(stream->fd, &message, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno;
		stream_count_call(stream);
		parts_advance(&message, (size_t)sent);
		if (payload)
			(void)atomic_fetch_add(&stream->bytes, (uint64_t)sent);
	}
	return 0;
}

void stream_finish(struct stream *stream, int error)
{
	atomic_store(&stream->cpu_ns, clock_thread_cpu_ns());
	atomic_store(&stream->error, error);
	atomic_store(&stream->finished, true);
	streams_post(stream->set);
}
