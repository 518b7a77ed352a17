#include "base/clock.h"
#include "net/lowwater.h"
#include "net/tcpinfo.h"
#include "net/tune.h"
#include "payload/buffer.h"
#include "transfer/stream.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* Discarding reads need no memory behind the address range, so it may be large. */
#define DISCARD_BYTES ((size_t)64 << 20)
/*
 * Copied bytes stay in the core's second-level cache of 1 or 2 MiB, beside what they are copied
 * from. With 1 MiB of them they do not, and the receiver takes half as long again.
 */
#define MEMORY_BYTES ((size_t)256 << 10)
#define VERIFY_BYTES ((size_t)2 * BLOCK_BYTES)
/*
 * With a time limit what a read brings counts when it returns in time. So that little hangs on the
 * one that is under way at that instant, none waits for long, and shortly before it reads are, and
 * wait for, little beside what has come already.
 */
#define TIMED_FRACTION    4096
#define TIMED_BYTES       (UINT64_C(64) << 10)
#define TIMED_PATIENCE_NS (25 * NS_PER_MS)
#define TIMED_HURRY_NS    (2 * TIMED_PATIENCE_NS)

struct reader {
	struct stream *stream;
	struct buffer memory;
	uint8_t *buffer; /* it, as bytes */
	size_t size;
	size_t from; /* what is not verified yet begins here */
	size_t to;   /* and ends here, where the next bytes go; 0 in the other modes */
	int flags;
	bool timed; /* a warm-up or a time limit */
	bool hurry; /* one of them ends soon */
	uint64_t low_water;
	uint64_t review_at;   /* byte count at which the low-water mark is looked at again */
	uint64_t reviewed;    /* byte count at the last look */
	uint64_t reviewed_ns; /* and its time */
};

static size_t buffer_size(enum receive_mode mode)
{
	switch (mode) {
	case RECEIVE_MEMORY:
		return MEMORY_BYTES;
	case RECEIVE_VERIFY:
		return VERIFY_BYTES;
	case RECEIVE_DISCARD:
	default:
		return DISCARD_BYTES;
	}
}

/* Addresses only; NULL bytes if there are none. */
static void range_map(struct buffer *buffer, size_t size)
{
	void *range = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	*buffer = (struct buffer){.bytes = range != MAP_FAILED ? range : NULL, .size = size};
}

static bool patience_set(int fd)
{
	const struct timeval patience = {.tv_usec = TIMED_PATIENCE_NS / NS_PER_US};
	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0;
}

/* The part of what has come that may be in doubt at the instant that counts. */
static uint64_t doubt_bytes(const struct reader *reader)
{
	return atomic_load(&reader->stream->bytes) / TIMED_FRACTION;
}

static int low_water_set(struct reader *reader, uint64_t mark)
{
	struct failure failure = {0};
	if (tune_low_water(reader->stream->fd, mark, &failure) != 0)
		return errno;
	reader->low_water = mark;
	return 0;
}

static int reader_prepare(struct reader *reader, struct stream *stream)
{
	const struct receiving *receiving = stream_receiving(stream);
	bool discard = receiving->mode == RECEIVE_DISCARD;
	*reader = (struct reader){.stream = stream,
				  .size = buffer_size(receiving->mode),
				  .flags = discard ? MSG_TRUNC : 0,
				  .timed = receiving->omit_ns != 0 || receiving->duration_ns != 0,
				  .low_water = 1};
	reader->hurry = reader->timed;
	if (reader->timed && !patience_set(stream->fd))
		return errno;
	if (receiving->mode == RECEIVE_VERIFY) {
		stream->verifier = verifier_create(receiving->seed, stream->index,
						   receiving->block_bytes, stream->limit);
		if (stream->verifier == NULL)
			return ENOMEM;
	}
	if (discard)
		range_map(&reader->memory, reader->size);
	else
		(void)buffer_open(&reader->memory, reader->size);
	reader->buffer = reader->memory.bytes;
	if (reader->buffer == NULL)
		return ENOMEM;
	/* The end of the connection, which follows the last record, wakes it too. */
	int error = stream_protected(stream) ? low_water_set(reader, PROTECT_RECORD_BYTES) : 0;
	if (error != 0)
		return error;
	/* Copying reads touch every page anyhow: take them now, not during the transfer. */
	if (!discard)
		memset(reader->buffer, 0, reader->size);
	return 0;
}

/* Checks what came; a block that is not whole yet waits, at the front once the end is reached. */
static void reader_verify(struct reader *reader, size_t got)
{
	reader->to += got;
	reader->from += verifier_take(reader->stream->verifier, reader->buffer + reader->from,
				      reader->to - reader->from);
	if (reader->from == reader->to || reader->to == reader->size) {
		memmove(reader->buffer, reader->buffer + reader->from, reader->to - reader->from);
		reader->to -= reader->from;
		reader->from = 0;
	}
}

/* About once per window: is the mark right for the rate, the RTT and the window of now? */
static int low_water_review(struct reader *reader, uint64_t done, uint64_t left)
{
	struct tcp_info info;
	struct failure failure = {0};
	uint64_t rcvbuf;
	uint64_t clamp = stream_receiving(reader->stream)->window_clamp_bytes;
	if (clamp != 0 && tune_window_clamp(reader->stream->fd, clamp, &failure) != 0)
		return errno;
	if (!tcp_info_read(reader->stream->fd, &info) ||
	    tune_buffer(reader->stream->fd, TUNE_RECEIVE, &rcvbuf, &failure) != 0)
		return errno;
	uint64_t now_ns = clock_monotonic_ns();
	struct low_water_input input = {
	    .rcvbuf_bytes = rcvbuf,
	    .window_bytes = info.raw.rcv_wnd,
	    .rtt_us = tcp_info_min_rtt_us(&info),
	    .bytes = done - reader->reviewed,
	    .elapsed_ns = now_ns - reader->reviewed_ns,
	};
	uint64_t mark = low_water_choose(&input);
	reader->reviewed = done;
	reader->reviewed_ns = now_ns;
	reader->review_at = done + rcvbuf / 2;
	mark = mark < left ? mark : left;
	return low_water_set(reader, mark != 0 ? mark : 1);
}

/* The first read of the stream has brought `got` bytes at `now_ns`. */
static void reader_begin(struct reader *reader, uint64_t got, uint64_t now_ns)
{
	stream_report_first(reader->stream, got, now_ns);
	reader->reviewed_ns = now_ns;
}

static bool is_near(uint64_t now_ns, uint64_t at_ns)
{
	return now_ns < at_ns && at_ns - now_ns < TIMED_HURRY_NS;
}

static void time_out(struct stream *stream, uint64_t got)
{
	atomic_store(&stream->late_bytes, got + stream_waiting(stream));
	atomic_store(&stream->timed_out, true);
}

/* Does the read that has just brought `got` bytes count? False when the time was up. */
static bool call_counts(struct reader *reader, uint64_t got)
{
	struct stream *stream = reader->stream;
	bool first = atomic_load(&stream->bytes) == 0;
	if (!reader->timed && !first)
		return true;
	uint64_t now_ns = clock_monotonic_ns();
	if (now_ns > streams_end_ns(stream->set)) {
		time_out(stream, got);
		return false;
	}
	if (first)
		reader_begin(reader, got, now_ns);
	uint64_t begin_ns = streams_begin_ns(stream->set);
	if (now_ns >= begin_ns && !atomic_load(&stream->warm)) {
		if (!first)
			atomic_store(&stream->early_bytes, got + stream_waiting(stream));
		atomic_store(&stream->warm_bytes, atomic_load(&stream->bytes));
		atomic_store(&stream->warm, true);
	}
	reader->hurry = is_near(now_ns, begin_ns) || is_near(now_ns, streams_end_ns(stream->set));
	return true;
}

/* Counts what came and keeps the mark below what is still to come. */
static int reader_account(struct reader *reader, uint64_t got)
{
	struct stream *stream = reader->stream;
	uint64_t done = atomic_load(&stream->bytes) + got;
	uint64_t left = stream->limit - done;
	atomic_store(&stream->bytes, done);
	stream_count_call(stream);
	if (left == 0)
		return 0;
	if (reader->hurry) {
		/* A part of the next record may be taken already: then any byte may be its last. */
		uint64_t mark = stream_protected(stream) ? 1 : doubt_bytes(reader) + 1;
		return reader->low_water > mark ? low_water_set(reader, mark) : 0;
	}
	if (done >= reader->review_at)
		return low_water_review(reader, done, left);
	return left < reader->low_water ? low_water_set(reader, left) : 0;
}

static size_t call_bytes(const struct reader *reader)
{
	uint64_t most = reader->stream->limit - atomic_load(&reader->stream->bytes);
	size_t room = reader->size - reader->to;
	uint64_t doubt = doubt_bytes(reader) > TIMED_BYTES ? doubt_bytes(reader) : TIMED_BYTES;
	if (reader->hurry && doubt < most)
		most = doubt;
	return room < most ? room : most;
}

/* A record needs room for all of it. */
static void reader_compact(struct reader *reader)
{
	if (reader->stream->tunnel == NULL || reader->size - reader->to >= PROTECT_PAYLOAD_BYTES)
		return;
	memmove(reader->buffer, reader->buffer + reader->from, reader->to - reader->from);
	reader->to -= reader->from;
	reader->from = 0;
}

static bool time_is_up(const struct reader *reader)
{
	return reader->timed && clock_monotonic_ns() > streams_end_ns(reader->stream->set);
}

/*
 * Where to end once the session is called off: with what is in the socket then. A shutdown alone
 * ends nothing while the sender goes on: Linux takes and hands out what comes after it.
 */
static uint64_t end_choose(const struct stream *stream, uint64_t end)
{
	int there = 0;
	if (end != stream->limit || !stream_stopping(stream))
		return end;
	uint64_t done = atomic_load(&stream->bytes);
	if (ioctl(stream->fd, FIONREAD, &there) != 0 || there < 0)
		return done;
	return (uint64_t)there < end - done ? done + (uint64_t)there : end;
}

static int stream_drain(struct reader *reader)
{
	struct stream *stream = reader->stream;
	uint64_t end = end_choose(stream, stream->limit);
	for (; atomic_load(&stream->bytes) < end; end = end_choose(stream, end)) {
		reader_compact(reader);
		ssize_t got = stream_read(stream, reader->buffer + reader->to, call_bytes(reader),
					  reader->flags);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN && !stream_stopping(stream)) {
			/* Its patience is over; the time perhaps too. */
			if (!time_is_up(reader))
				continue;
			time_out(stream, 0);
			return 0;
		}
		if (got < 0)
			return stream_stopping(stream) ? 0 : errno;
		if (got == 0 || !call_counts(reader, (uint64_t)got))
			break;
		if (stream->verifier != NULL)
			reader_verify(reader, (size_t)got);
		int error = reader_account(reader, (uint64_t)got);
		if (error != 0)
			return stream_stopping(stream) ? 0 : error;
	}
	return 0;
}

void *stream_receive(void *argument)
{
	struct stream *stream = argument;
	struct reader reader;
	int error = reader_prepare(&reader, stream);
	if (error == 0) {
		error = stream_drain(&reader);
		if (atomic_load(&stream->bytes) != 0)
			atomic_store(&stream->last_ns, clock_monotonic_ns());
		if (stream->verifier != NULL)
			verifier_finish(stream->verifier, error == 0 && !stream_stopping(stream) &&
							      !atomic_load(&stream->timed_out));
	}
	buffer_close(&reader.memory);
	stream_finish(stream, error);
	return NULL;
}
