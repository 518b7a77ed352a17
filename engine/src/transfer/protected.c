/* What a stream sends and reads, as records where it is protected (protect.h). */
#include "protect/ktls.h"
#include "transfer/stream.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* As few as keep the calls few: what lies here and what is made of it shall stay in the cache. */
#define WIRE_RECORDS 4
#define WIRE_BYTES   ((size_t)WIRE_RECORDS * PROTECT_RECORD_BYTES)

struct tunnel {
	struct protector *protector;
	uint8_t *wire; /* read: what has come; sent: room for what is encrypted */
	size_t from;   /* what is not opened yet */
	size_t to;
};

struct kernel_tunnel {
	struct protect_keys keys; /* until the kernel has them */
	uint64_t records;         /* made by it, at least */
	bool seals;
	bool ended; /* the last record came */
};

static int tunnel_create(struct stream *stream, enum protect_mode mode, bool seals,
			 const uint8_t *secret, uint32_t number, struct failure *failure)
{
	struct tunnel *tunnel = calloc(1, sizeof(*tunnel));
	stream->tunnel = tunnel;
	if (tunnel == NULL)
		return failure_set(failure, "out of memory");
	tunnel->protector = protector_create(mode, seals, secret, number);
	tunnel->wire = malloc(WIRE_BYTES);
	if (tunnel->protector == NULL || tunnel->wire == NULL)
		return failure_set(failure, "AES-256-GCM is not to be had of libcrypto");
	return 0;
}

static int kernel_tunnel_create(struct stream *stream, bool seals, const uint8_t *secret,
				uint32_t number, struct failure *failure)
{
	stream->kernel = calloc(1, sizeof(*stream->kernel));
	if (stream->kernel == NULL)
		return failure_set(failure, "out of memory");
	stream->kernel->seals = seals;
	protect_keys_derive(secret, number, &stream->kernel->keys);
	return 0;
}

int streams_protect(struct streams *set, enum protect_mode mode, bool seals,
		    const uint8_t secret[PROTECT_SECRET_BYTES], unsigned first,
		    struct failure *failure)
{
	int status = 0;
	set->protect = mode;
	for (unsigned i = 0; status == 0 && mode != PROTECT_NONE && i < set->count; i++) {
		struct stream *stream = &set->streams[i];
		status = mode == PROTECT_KTLS
			     ? kernel_tunnel_create(stream, seals, secret, first + i, failure)
			     : tunnel_create(stream, mode, seals, secret, first + i, failure);
	}
	return status;
}

uint64_t streams_payload(const struct streams *set, uint64_t wire_bytes)
{
	return protect_payload(set->protect, wire_bytes);
}

bool stream_protected(const struct stream *stream)
{
	return stream->tunnel != NULL || stream->kernel != NULL;
}

int stream_open_kernel(struct stream *stream, struct failure *failure)
{
	struct kernel_tunnel *kernel = stream->kernel;
	if (kernel == NULL)
		return 0;
	int status = ktls_open(stream->fd, kernel->seals, &kernel->keys, failure);
	sodium_memzero(&kernel->keys, sizeof(kernel->keys));
	return status;
}

int stream_seal(struct stream *stream, uint64_t bytes)
{
	return stream->kernel != NULL ? ktls_count(&stream->kernel->records, bytes) : 0;
}

void tunnel_destroy(struct stream *stream)
{
	if (stream->tunnel != NULL) {
		protector_destroy(stream->tunnel->protector);
		free(stream->tunnel->wire);
	}
	if (stream->kernel != NULL)
		sodium_memzero(&stream->kernel->keys, sizeof(stream->kernel->keys));
	free(stream->tunnel);
	free(stream->kernel);
}

/*
 * Up to WIRE_RECORDS records by one call, at least one: between two calls TCP would send what does
 * not fill a packet yet.
 */
static int records_send(struct stream *stream, enum protect_kind kind, const uint8_t *bytes,
			size_t count)
{
	uint8_t heads[WIRE_RECORDS][PROTECT_HEAD_BYTES];
	uint8_t tags[WIRE_RECORDS][PROTECT_TAG_BYTES];
	struct iovec parts[3 * WIRE_RECORDS];
	struct tunnel *tunnel = stream->tunnel;
	size_t done = 0;
	size_t used = 0;
	for (unsigned i = 0; i == 0 || done < count; i++) {
		const uint8_t *sealed;
		size_t left = count - done;
		uint32_t part =
		    left < PROTECT_PAYLOAD_BYTES ? (uint32_t)left : PROTECT_PAYLOAD_BYTES;
		if (!protector_seal(tunnel->protector, kind, bytes + done, part,
				    tunnel->wire + done, heads[i], &sealed, tags[i]))
			return EIO;
		parts[used++] = (struct iovec){heads[i], PROTECT_HEAD_BYTES};
		parts[used++] = (struct iovec){(void *)sealed, part};
		parts[used++] = (struct iovec){tags[i], PROTECT_TAG_BYTES};
		done += part;
	}
	return stream_send_parts(stream, parts, used, false);
}

int stream_write(struct stream *stream, const uint8_t *bytes, uint64_t count)
{
	static const size_t most = (size_t)WIRE_RECORDS * PROTECT_PAYLOAD_BYTES;
	int error = 0;
	while (error == 0 && count > 0) {
		size_t part = count < most ? (size_t)count : most;
		error = records_send(stream, PROTECT_DATA, bytes, part);
		if (error == 0)
			(void)atomic_fetch_add(&stream->bytes, part);
		bytes += part;
		count -= part;
	}
	return error;
}

int stream_write_end(struct stream *stream)
{
	static const uint8_t none;
	if (stream->kernel != NULL)
		return ktls_send_end(stream->fd);
	return stream->tunnel != NULL ? records_send(stream, PROTECT_END, &none, 0) : 0;
}

/* At least `count` bytes in one piece. 1, 0 at the end of the connection, -1 with errno. */
static int wire_fill(struct stream *stream, size_t count)
{
	struct tunnel *tunnel = stream->tunnel;
	if (tunnel->from + count > WIRE_BYTES) {
		memmove(tunnel->wire, tunnel->wire + tunnel->from, tunnel->to - tunnel->from);
		tunnel->to -= tunnel->from;
		tunnel->from = 0;
	}
	while (tunnel->to - tunnel->from < count) {
		ssize_t got =
		    recv(stream->fd, tunnel->wire + tunnel->to, WIRE_BYTES - tunnel->to, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 ? 0 : -1;
		tunnel->to += (size_t)got;
	}
	return 1;
}

static ssize_t forged(void)
{
	errno = EBADMSG;
	return -1;
}

/* The next record's payload. */
static ssize_t record_read(struct stream *stream, uint8_t *bytes, size_t room)
{
	uint32_t count = 0;
	struct tunnel *tunnel = stream->tunnel;
	if (protector_ended(tunnel->protector))
		return 0;
	int filled = wire_fill(stream, PROTECT_HEAD_BYTES);
	if (filled > 0 &&
	    (!protector_head(tunnel->protector, tunnel->wire + tunnel->from, &count) ||
	     count > room))
		return forged();
	size_t whole = PROTECT_HEAD_BYTES + count + PROTECT_TAG_BYTES;
	if (filled > 0)
		filled = wire_fill(stream, whole);
	if (filled <= 0) {
		/* It was cut: the last record did not come. */
		errno = filled == 0 ? ECONNRESET : errno;
		return -1;
	}
	if (!protector_open(tunnel->protector, tunnel->wire + tunnel->from, bytes))
		return forged();
	tunnel->from += whole;
	return count;
}

static ssize_t kernel_read(struct stream *stream, uint8_t *bytes, size_t room, int flags)
{
	struct kernel_tunnel *kernel = stream->kernel;
	if (kernel->ended)
		return 0;
	ssize_t got = ktls_read(stream->fd, bytes, room, flags, &kernel->ended);
	if (got != 0 || kernel->ended)
		return got;
	/* It was cut: the last record did not come. */
	errno = ECONNRESET;
	return -1;
}

ssize_t stream_read(struct stream *stream, uint8_t *bytes, size_t room, int flags)
{
	if (stream->tunnel != NULL)
		return record_read(stream, bytes, room);
	if (stream->kernel != NULL)
		return kernel_read(stream, bytes, room, flags);
	return recv(stream->fd, bytes, room, flags);
}
