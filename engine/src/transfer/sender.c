#include "base/clock.h"
#include "payload/send_method.h"
#include "transfer/stream.h"

#include <errno.h>
#include <sys/socket.h>

static const struct send_operations *const methods[SEND_METHODS] = {
    [SEND_WRITE] = &sending_write,   [SEND_SENDFILE] = &sending_sendfile,
    [SEND_SPLICE] = &sending_splice, [SEND_ZEROCOPY] = &sending_zerocopy,
    [SEND_URING] = &sending_uring,
};

static bool pump_stopping(void *stream)
{
	return stream_stopping(stream);
}

/* As records: they are made of the bytes, which are free afterwards. */
static int piece_protect(struct stream *stream, const struct piece *piece, uint64_t *done)
{
	int error = stream_write(stream, piece->bytes, piece->count);
	*done = atomic_load(&stream->bytes);
	return error;
}

/* The whole piece. 0 or a positive errno. */
static int piece_send(struct stream *stream, const struct send_operations *method,
		      struct send_context *context, struct piece piece, uint64_t *done)
{
	while (piece.count > 0 && !stream_stopping(stream)) {
		ssize_t sent = method->send(context, &piece);
		if (sent > 0) {
			piece.bytes += sent;
			piece.offset += sent;
			piece.count -= (uint64_t)sent;
			*done += (uint64_t)sent;
			atomic_store(&stream->bytes, *done);
			stream_count_call(stream);
		} else if (sent == 0) {
			return EIO; /* neither a sealed file nor memory ends */
		} else if (errno != EINTR) {
			return errno;
		}
	}
	return 0;
}

static int stream_pump(struct stream *stream, const struct send_operations *method,
		       struct send_context *context)
{
	uint64_t done = 0;
	int error = 0;
	while (error == 0 && done < stream->limit && !stream_stopping(stream)) {
		struct piece piece;
		if (!source_next(&context->source, stream->limit - done, &piece)) {
			error = method->wait(context);
			continue;
		}
		error = stream_seal(stream, piece.count);
		if (error == 0)
			error = stream->tunnel != NULL
				    ? piece_protect(stream, &piece, &done)
				    : piece_send(stream, method, context, piece, &done);
		if (method->sent != NULL)
			method->sent(context, &piece);
		else
			source_release(&context->source, piece.slot);
	}
	/* After streams_stop the end of the connection is what was wanted. */
	return stream_stopping(stream) ? 0 : error;
}

static int source_open(struct stream *stream, struct send_context *context,
		       const struct send_operations *method)
{
	const struct sending *sending = stream_sending(stream);
	if (sending->made)
		return source_open_blocks(&context->source, sending->seed, stream->index,
					  sending->block_bytes, method->keeps ? sending->slots : 1);
	return source_open_payload(&context->source, &sending->payload, sending->span,
				   stream->index);
}

static int stream_work(struct stream *stream)
{
	const struct sending *sending = stream_sending(stream);
	const struct send_operations *method = methods[sending->way];
	struct gate *gate = stream->set->gate;
	struct send_context context = {.fd = stream->fd,
				       .packet_bytes = sending->packet_bytes,
				       .counts = &stream->counts,
				       .stopping = pump_stopping,
				       .stream = stream};
	uint64_t start_ns;
	int error = source_open(stream, &context, method);
	if (error != 0)
		return error;
	stream->pages = context.source.buffer.pages;
	if (method->open != NULL)
		error = method->open(&context);
	bool opened = error == 0;
	if (error == 0 && gate_wait(gate, &start_ns) &&
	    (sending->stagger_ns == 0 ||
	     gate_sleep_until(gate, start_ns + stream->index * sending->stagger_ns))) {
		error = stream_pump(stream, method, &context);
		if (error == 0 && !stream_stopping(stream))
			error = stream_write_end(stream);
		/* The end of the connection tells the receiver that this was all. */
		if (error == 0 && shutdown(stream->fd, SHUT_WR) != 0 && errno != ENOTCONN)
			error = errno;
	}
	if (opened && method->close != NULL)
		method->close(&context);
	source_close(&context.source);
	return error;
}

void *stream_send(void *argument)
{
	struct stream *stream = argument;
	stream_finish(stream, stream_work(stream));
	return NULL;
}
