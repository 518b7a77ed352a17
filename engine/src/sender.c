#include "clock.h"
#include "payload.h"
#include "stream.h"

#include <errno.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

/*
 * One call moves up to the whole payload: a system call costs tens of microseconds of real time
 * in the virtual-time kernel, while the kernel's own packet work runs at native speed.
 */
static ssize_t payload_send(int fd, int payload_fd, uint64_t position, uint64_t left)
{
	off_t offset = (off_t)(position % PAYLOAD_BYTES);
	uint64_t chunk = PAYLOAD_BYTES - (uint64_t)offset;
	return sendfile(fd, payload_fd, &offset, chunk < left ? chunk : left);
}

static int stream_pump(struct stream *stream, int payload_fd)
{
	/* Streams begin at different pages, so that equal bytes do not travel side by side. */
	uint64_t shift = (uint64_t)stream->index * 4096 * 61;
	uint64_t done = 0;
	while (done < stream->limit && !stream_stopping(stream)) {
		ssize_t sent =
		    payload_send(stream->fd, payload_fd, shift + done, stream->limit - done);
		if (sent > 0) {
			done += (uint64_t)sent;
			atomic_store(&stream->bytes, done);
			(void)atomic_fetch_add(&stream->calls, 1);
		} else if (sent == 0) {
			return EIO; /* the sealed payload cannot have shrunk */
		} else if (errno != EINTR) {
			/* After streams_stop the end of the connection is what was wanted. */
			return stream_stopping(stream) ? 0 : errno;
		}
	}
	return 0;
}

void *stream_send(void *argument)
{
	struct stream *stream = argument;
	const struct sending *sending = stream_sending(stream);
	struct gate *gate = streams_gate(stream->set);
	uint64_t start_ns;
	int error = 0;
	if (gate_wait(gate, &start_ns) &&
	    (sending->stagger_ns == 0 ||
	     gate_sleep_until(gate, start_ns + stream->index * sending->stagger_ns))) {
		error = stream_pump(stream, sending->payload_fd);
		/* The end of the connection tells the receiver that this was all. */
		if (error == 0 && shutdown(stream->fd, SHUT_WR) != 0 && errno != ENOTCONN)
			error = errno;
	}
	stream_finish(stream, error);
	return NULL;
}
