#include "transfer/streams.h"

#include "base/clock.h"
#include "base/number.h"
#include "net/net.h"
#include "transfer/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Threads use little; 128 times the default of 8 MB would be odd in a small guest. */
#define STACK_BYTES (256U << 10)

struct streams *streams_create(unsigned count, struct failure *failure)
{
	struct streams *set = calloc(1, sizeof(*set) + count * sizeof(set->streams[0]));
	if (set == NULL) {
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	set->count = count;
	for (unsigned i = 0; i < count; i++) {
		set->streams[i].set = set;
		set->streams[i].index = i;
		set->streams[i].fd = -1;
	}
	set->gate = gate_create();
	set->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (set->gate == NULL || set->event_fd < 0) {
		(void)failure_set_errno(failure, errno, "cannot prepare the streams");
		streams_destroy(set);
		return NULL;
	}
	return set;
}

void streams_destroy(struct streams *set)
{
	if (set == NULL)
		return;
	streams_stop(set);
	streams_join(set);
	for (unsigned i = 0; i < set->count; i++) {
		if (set->streams[i].fd >= 0)
			net_abort(set->streams[i].fd);
		verifier_destroy(set->streams[i].verifier);
		tunnel_destroy(&set->streams[i]);
	}
	if (set->event_fd >= 0)
		(void)close(set->event_fd);
	gate_destroy(set->gate);
	free(set);
}

unsigned streams_count(const struct streams *set)
{
	return set->count;
}

struct gate *streams_gate(const struct streams *set)
{
	return set->gate;
}

void streams_adopt(struct streams *set, unsigned index, int fd)
{
	set->streams[index].fd = fd;
}

int streams_fd(const struct streams *set, unsigned index)
{
	return set->streams[index].fd;
}

uint64_t streams_share(uint64_t bytes, unsigned count, unsigned index)
{
	return bytes / count + (index < bytes % count ? 1 : 0);
}

static int thread_place(const struct stream *stream, pthread_attr_t *attributes)
{
	cpu_set_t set;
	const struct cpus *cpus = &stream->set->cpus;
	if (cpus->count == 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(cpus->number[stream->index % cpus->count], &set);
	return pthread_attr_setaffinity_np(attributes, sizeof(set), &set);
}

static int thread_start(struct stream *stream, void *(*body)(void *), struct failure *failure)
{
	pthread_attr_t attributes;
	int status = pthread_attr_init(&attributes);
	if (status == 0) {
		/* Refused only when the system wants larger ones: then its default is right. */
		(void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
		status = thread_place(stream, &attributes);
		if (status == 0)
			status = pthread_create(&stream->thread, &attributes, body, stream);
		(void)pthread_attr_destroy(&attributes);
	}
	if (status != 0)
		return failure_set_errno(failure, status, "cannot start the thread of stream %u",
					 stream->index);
	stream->started = true;
	return 0;
}

static int threads_start(struct streams *set, uint64_t bytes, void *(*body)(void *),
			 struct failure *failure)
{
	for (unsigned i = 0; i < set->count; i++) {
		struct stream *stream = &set->streams[i];
		stream->limit = bytes != 0 ? streams_share(bytes, set->count, i) : UINT64_MAX;
		if (net_set_blocking(stream->fd, true, failure) != 0 ||
		    stream_open_kernel(stream, failure) != 0 ||
		    thread_start(stream, body, failure) != 0)
			return -1;
	}
	return 0;
}

void streams_pin(struct streams *set, const struct cpus *cpus)
{
	set->cpus = *cpus;
}

int streams_send(struct streams *set, const struct sending *sending, struct failure *failure)
{
	set->sending = *sending;
	set->sends = true;
	return threads_start(set, sending->bytes, stream_send, failure);
}

int streams_receive(struct streams *set, const struct receiving *receiving, struct failure *failure)
{
	set->receiving = *receiving;
	return threads_start(set, receiving->bytes, stream_receive, failure);
}

static void *stream_work(void *argument)
{
	struct stream *stream = argument;
	stream_finish(stream, stream->set->work(stream, stream->set->work_context));
	return NULL;
}

int streams_work(struct streams *set, bool sends, int (*work)(struct stream *stream, void *context),
		 void *context, struct failure *failure)
{
	set->sends = sends;
	set->work = work;
	set->work_context = context;
	return threads_start(set, 0, stream_work, failure);
}

int streams_event_fd(const struct streams *set)
{
	return set->event_fd;
}

void streams_acknowledge(struct streams *set)
{
	uint64_t events;
	/* Empty already: nothing to acknowledge. */
	if (read(set->event_fd, &events, sizeof(events)) < 0)
		return;
}

uint64_t streams_moved(const struct streams *set)
{
	uint64_t moved = 0;
	for (unsigned i = 0; i < set->count; i++) {
		struct tcp_info info;
		moved += atomic_load(&set->streams[i].bytes);
		/* A connection that is gone moves nothing. */
		if (streams_info_read(set, i, &info))
			moved += info.raw.bytes_acked + info.raw.bytes_received;
	}
	return moved;
}

void streams_stop(struct streams *set)
{
	atomic_store(&set->stopping, true);
	if (set->gate != NULL)
		gate_cancel(set->gate);
	for (unsigned i = 0; i < set->count; i++) {
		/* Wakes the thread out of its call; fails only when the connection is gone. */
		if (set->streams[i].started)
			(void)shutdown(set->streams[i].fd, set->sends ? SHUT_WR : SHUT_RD);
	}
}

void streams_break(struct streams *set)
{
	streams_stop(set);
	for (unsigned i = 0; i < set->count; i++)
		(void)shutdown(set->streams[i].fd, SHUT_RDWR);
}

void streams_join(struct streams *set)
{
	for (unsigned i = 0; i < set->count; i++) {
		if (set->streams[i].started)
			(void)pthread_join(set->streams[i].thread, NULL);
		set->streams[i].started = false;
	}
}

void streams_look(const struct streams *set, unsigned index, struct stream_view *view)
{
	const struct stream *stream = &set->streams[index];
	/* Read first: once it is set the other members do not change any more. */
	view->finished = atomic_load(&stream->finished);
	view->bytes = atomic_load(&stream->bytes);
	/* One that has read nothing since the warm-up has read all of it before. */
	view->warm_bytes = set->receiving.omit_ns == 0  ? 0
			   : atomic_load(&stream->warm) ? atomic_load(&stream->warm_bytes)
							: view->bytes;
	view->early_bytes =
	    number_above(atomic_load(&stream->early_bytes), atomic_load(&stream->late_bytes));
	view->early_bytes = number_least(view->early_bytes, view->bytes - view->warm_bytes);
	view->timed_out = atomic_load(&stream->timed_out);
	view->first_ns = atomic_load(&stream->first_ns);
	view->last_ns = atomic_load(&stream->last_ns);
	view->calls = atomic_load(&stream->calls);
	view->cpu_ns = atomic_load(&stream->cpu_ns);
	view->error = atomic_load(&stream->error);
}

uint64_t streams_cpu_ns(const struct streams *set, unsigned index)
{
	const struct stream *stream = &set->streams[index];
	clockid_t clock;
	struct timespec time;
	if (atomic_load(&stream->finished) || pthread_getcpuclockid(stream->thread, &clock) != 0 ||
	    clock_gettime(clock, &time) != 0)
		return atomic_load(&stream->cpu_ns);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

void streams_ask(struct streams *set, unsigned index, uint64_t due_ns)
{
	set->streams[index].due_ns = due_ns;
	(void)atomic_fetch_add(&set->questions, 1);
	atomic_store(&set->streams[index].asked, true);
}

void streams_join_subflows(struct streams *set)
{
	set->multipath = true;
}

bool streams_info_read(const struct streams *set, unsigned index, struct tcp_info *info)
{
	return stream_info_read(&set->streams[index], info);
}

void streams_ask_control(struct streams *set)
{
	set->control = true;
}

void streams_when_answered(struct streams *set, void (*act)(void *context), void *context)
{
	set->answered = act;
	set->answered_context = context;
}

const struct stream_answer *streams_answer(const struct streams *set, unsigned index)
{
	const struct stream *stream = &set->streams[index];
	return atomic_load(&stream->asked) ? NULL : &stream->answer;
}

uint64_t streams_calls(const struct streams *set, unsigned index)
{
	return atomic_load(&set->streams[index].calls);
}

unsigned streams_open_count(const struct streams *set)
{
	unsigned open = 0;
	for (unsigned i = 0; i < set->count; i++)
		open += atomic_load(&set->streams[i].finished) ? 0 : 1;
	return open;
}

bool streams_all_finished(const struct streams *set)
{
	return streams_open_count(set) == 0;
}

bool streams_first_error(const struct streams *set, unsigned *index, int *error)
{
	for (unsigned i = 0; i < set->count; i++) {
		int seen = atomic_load(&set->streams[i].error);
		if (seen != 0) {
			*index = i;
			*error = seen;
			return true;
		}
	}
	return false;
}

bool streams_brought_more(const struct streams *set, unsigned index)
{
	char byte;
	const struct stream *stream = &set->streams[index];
	return stream->tunnel == NULL && atomic_load(&stream->bytes) == stream->limit &&
	       recv(stream->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

const struct send_counts *streams_counts(const struct streams *set, unsigned index)
{
	return &set->streams[index].counts;
}

const char *streams_pages(const struct streams *set, unsigned index)
{
	return buffer_pages_name(set->streams[index].pages);
}

const struct verify_report *streams_verified(const struct streams *set, unsigned index)
{
	const struct verifier *verifier = set->streams[index].verifier;
	return verifier != NULL ? verifier_report(verifier) : NULL;
}

uint64_t streams_early_bytes(const struct streams *set)
{
	uint64_t early = 0;
	uint64_t late = 0;
	bool warm = set->receiving.omit_ns != 0;
	for (unsigned i = 0; i < set->count; i++) {
		const struct stream *stream = &set->streams[i];
		uint64_t first_ns = atomic_load(&stream->first_ns);
		/* With a warm-up each has looked for itself when that was over. */
		bool own = warm || (first_ns != 0 && first_ns <= atomic_load(&set->looked_ns));
		early += atomic_load(own ? &stream->early_bytes : &stream->waiting_bytes);
		late += atomic_load(&stream->late_bytes);
	}
	return number_above(early, late);
}

uint64_t streams_arrived(const struct streams *set)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < set->count; i++)
		bytes += atomic_load(&set->streams[i].bytes) + stream_waiting(&set->streams[i]);
	return bytes;
}

uint64_t streams_first_ns(const struct streams *set)
{
	return atomic_load(&set->first_ns);
}
