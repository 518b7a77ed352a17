/* Pages of the payload's file: nothing is copied, and nothing needs to be given back. */
#include "payload/send_method.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * One call moves up to the whole payload: a system call costs tens of microseconds of real time
 * in the virtual-time kernel, while the kernel's own packet work runs at native speed.
 */
static ssize_t sendfile_send(struct send_context *context, const struct piece *piece)
{
	off_t offset = piece->offset;
	return sendfile(context->fd, piece->fd, &offset, piece->count);
}

const struct send_operations sending_sendfile = {
    .name = "sendfile",
    .takes_file = true,
    .send = sendfile_send,
};

/* An unprivileged process may have a pipe of that size (fs.pipe-max-size). */
#define PIPE_BYTES ((size_t)1 << 20)
/* What splice(2) takes from a pipe at once (splice_to_socket). */
#define SPLICE_PAGES 16
#define PIPE_PARTS   64

/*
 * Each time splice(2) has handed its pages over, TCP sends what it has: of 64 KiB a full packet and
 * a nearly empty one, which costs as much. So the pipe is filled with packets, each from the
 * beginning of a page on, such that what is handed over at once is whole ones.
 */
struct splice_state {
	int pipe[2];
	size_t inside;
	size_t room;   /* of the pipe; 0: it is too small to be of use */
	size_t packet; /* payload bytes that are sent as one */
	size_t stride; /* from the page where one begins to the next one's */
};

/* Of the payload. */
struct part {
	uint64_t at;
	size_t count;
};

static void splice_close(struct send_context *context)
{
	struct splice_state *state = context->state;
	(void)close(state->pipe[0]);
	(void)close(state->pipe[1]);
	free(state);
	context->state = NULL;
}

static void packet_choose(struct splice_state *state, size_t packet)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t pages = (packet + page - 1) / page;
	/* Packets of another number of pages would be mixed up. */
	if (pages == 0 || SPLICE_PAGES % pages != 0) {
		pages = SPLICE_PAGES;
		packet = pages * page;
	}
	state->packet = packet;
	state->stride = pages * page;
}

/*
 * Its size then; 0 when it is below `least`. All pipes of an ordinary user together may have
 * fs.pipe-user-pages-soft pages, by default 64 times PIPE_BYTES: beyond that they have two pages.
 */
static size_t pipe_enlarge(int pipe, size_t least)
{
	size_t bytes = PIPE_BYTES;
	while (bytes >= least && fcntl(pipe, F_SETPIPE_SZ, bytes) < 0)
		bytes /= 2;
	int there = fcntl(pipe, F_GETPIPE_SZ);
	return there > 0 && (size_t)there >= least ? (size_t)there : 0;
}

static int splice_open(struct send_context *context)
{
	struct splice_state *state = calloc(1, sizeof(*state));
	if (state == NULL)
		return ENOMEM;
	if (pipe2(state->pipe, O_CLOEXEC) != 0) {
		int error = errno;
		free(state);
		return error;
	}
	packet_choose(state, context->packet_bytes);
	state->room = pipe_enlarge(state->pipe[1], state->stride);
	context->counts->pipe_bytes = state->room;
	context->state = state;
	return 0;
}

/* From the piece's place on; which bytes of the payload they are is all the same. */
static size_t parts_choose(const struct splice_state *state, const struct piece *piece,
			   struct part parts[PIPE_PARTS])
{
	size_t count = 0;
	uint64_t left = piece->count;
	uint64_t at = (uint64_t)piece->offset / state->stride * state->stride;
	for (size_t room = state->room; left > 0 && room >= state->stride && count < PIPE_PARTS;
	     room -= state->stride) {
		if (at + state->stride > PAYLOAD_BYTES)
			at = 0;
		parts[count] = (struct part){at, left < state->packet ? left : state->packet};
		left -= parts[count++].count;
		at += state->stride;
	}
	return count;
}

static ssize_t pipe_fill_huge(int pipe, const uint8_t *huge, const struct part *parts, size_t count)
{
	struct iovec vectors[PIPE_PARTS];
	for (size_t i = 0; i < count; i++)
		vectors[i] = (struct iovec){(void *)(huge + parts[i].at), parts[i].count};
	return vmsplice(pipe, vectors, count, SPLICE_F_NONBLOCK);
}

static ssize_t pipe_fill_file(int pipe, int fd, const struct part *parts, size_t count)
{
	ssize_t filled = 0;
	for (size_t i = 0; i < count; i++) {
		off_t at = (off_t)parts[i].at;
		ssize_t in = splice(fd, &at, pipe, NULL, parts[i].count, SPLICE_F_NONBLOCK);
		if (in <= 0)
			return filled != 0 ? filled : in;
		filled += in;
	}
	return filled;
}

/* The pipe is empty: it takes what it has room for. */
static ssize_t pipe_fill(const struct send_context *context, const struct piece *piece)
{
	const struct splice_state *state = context->state;
	const uint8_t *huge = context->source.payload->huge.bytes;
	struct part parts[PIPE_PARTS];
	size_t count = parts_choose(state, piece, parts);
	return huge != NULL ? pipe_fill_huge(state->pipe[1], huge, parts, count)
			    : pipe_fill_file(state->pipe[1], piece->fd, parts, count);
}

/* Without the pipe: the file's pages as sendfile sends them; huge pages are copied. */
static ssize_t pipeless_send(struct send_context *context, const struct piece *piece)
{
	const uint8_t *huge = context->source.payload->huge.bytes;
	if (huge == NULL)
		return sendfile_send(context, piece);
	return send(context->fd, huge + piece->offset, piece->count, MSG_NOSIGNAL);
}

static ssize_t splice_send(struct send_context *context, const struct piece *piece)
{
	struct splice_state *state = context->state;
	if (state->room == 0)
		return pipeless_send(context, piece);
	if (state->inside == 0) {
		ssize_t in = pipe_fill(context, piece);
		if (in <= 0)
			return in;
		state->inside = (size_t)in;
	}
	ssize_t out = splice(state->pipe[0], NULL, context->fd, NULL, state->inside,
			     state->inside < piece->count ? SPLICE_F_MORE : 0);
	if (out > 0)
		state->inside -= (size_t)out;
	return out;
}

const struct send_operations sending_splice = {
    .name = "splice",
    .takes_file = true,
    .open = splice_open,
    .send = splice_send,
    .close = splice_close,
};
