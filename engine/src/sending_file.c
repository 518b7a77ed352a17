/* Pages of the payload's file: nothing is copied, and nothing needs to be given back. */
#include "pump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * One call moves up to the whole payload: a system call costs tens of microseconds of real time
 * in the virtual-time kernel, while the kernel's own packet work runs at native speed.
 */
static ssize_t sendfile_send(struct pump *pump, const struct piece *piece)
{
	off_t offset = piece->offset;
	return sendfile(pump->fd, piece->fd, &offset, piece->count);
}

const struct sending_method sending_sendfile = {
    .name = "sendfile",
    .takes_file = true,
    .send = sendfile_send,
};

/* An unprivileged process may have a pipe of that size (fs.pipe-max-size). */
#define PIPE_BYTES (1 << 20)

struct splice_state {
	int pipe[2];
	size_t inside;
};

static void splice_close(struct pump *pump)
{
	struct splice_state *state = pump->state;
	(void)close(state->pipe[0]);
	(void)close(state->pipe[1]);
	free(state);
	pump->state = NULL;
}

static int splice_open(struct pump *pump)
{
	struct splice_state *state = calloc(1, sizeof(*state));
	if (state == NULL)
		return ENOMEM;
	if (pipe2(state->pipe, O_CLOEXEC) != 0) {
		int error = errno;
		free(state);
		return error;
	}
	/* A smaller pipe is slower, not wrong. */
	(void)fcntl(state->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	pump->state = state;
	return 0;
}

static ssize_t pipe_fill(const struct pump *pump, int pipe, const struct piece *piece)
{
	off_t offset = piece->offset;
	struct iovec part = {.iov_base = (void *)piece->bytes, .iov_len = piece->count};
	if (pump->source.payload->huge.bytes == NULL)
		return splice(piece->fd, &offset, pipe, NULL, piece->count, 0);
	/* The pipe is empty: it takes what it has room for. */
	return vmsplice(pipe, &part, 1, SPLICE_F_NONBLOCK);
}

static ssize_t splice_send(struct pump *pump, const struct piece *piece)
{
	struct splice_state *state = pump->state;
	if (state->inside == 0) {
		ssize_t in = pipe_fill(pump, state->pipe[1], piece);
		if (in <= 0)
			return in;
		state->inside = (size_t)in;
	}
	ssize_t out = splice(state->pipe[0], NULL, pump->fd, NULL, state->inside,
			     state->inside < piece->count ? SPLICE_F_MORE : 0);
	if (out > 0)
		state->inside -= (size_t)out;
	return out;
}

const struct sending_method sending_splice = {
    .name = "splice",
    .takes_file = true,
    .open = splice_open,
    .send = splice_send,
    .close = splice_close,
};
