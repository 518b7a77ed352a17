#include "base/clock.h"
#include "files/stream.h"
#include "transfer/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* All of it: 0. -1: the connection ended, with errno, or 0 before the first byte. */
static int bytes_receive(struct stream *stream, uint8_t *buffer, size_t count)
{
	size_t used = 0;
	while (used < count) {
		ssize_t got = stream_read(stream, buffer + used, count - used, MSG_WAITALL);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			errno = got < 0 ? errno : used == 0 ? 0 : ECONNRESET;
			return -1;
		}
		stream_count_call(stream);
		uint64_t now_ns = clock_monotonic_ns();
		if (atomic_fetch_add(&stream->bytes, (uint64_t)got) == 0)
			stream_report_first(stream, (uint64_t)got, now_ns);
		atomic_store(&stream->last_ns, now_ns);
		used += (size_t)got;
	}
	return 0;
}

static void receiving_fail(struct files_receiving *receiving, const struct failure *failure)
{
	(void)pthread_mutex_lock(&receiving->mutex);
	(void)failure_set(&receiving->failure, "%s", failure->text);
	(void)pthread_mutex_unlock(&receiving->mutex);
}

static int records_receive(struct stream *stream, struct files_receiving *receiving,
			   uint8_t *buffer)
{
	uint8_t header[RECORD_BYTES];
	struct record record;
	struct failure failure = {0};
	while (bytes_receive(stream, header, sizeof(header)) == 0) {
		if (record_decode(header, &record, &failure) != 0) {
			receiving_fail(receiving, &failure);
			return EBADMSG;
		}
		if (bytes_receive(stream, buffer, record_payload(&record)) != 0)
			return errno != 0 ? errno : ECONNRESET;
		(void)atomic_fetch_add(&receiving->busy, 1);
		int stored = store_record(receiving->store, &record, buffer, &failure);
		(void)atomic_fetch_sub(&receiving->busy, 1);
		if (stored != 0) {
			receiving_fail(receiving, &failure);
			return EBADMSG;
		}
	}
	return errno;
}

int files_stream_receive(struct stream *stream, void *context)
{
	uint8_t *buffer = aligned_alloc(DIRECT_ALIGNMENT, FILE_BLOCK_BYTES);
	if (buffer == NULL)
		return ENOMEM;
	int error = records_receive(stream, context, buffer);
	free(buffer);
	return stream_stopping(stream) ? 0 : error;
}
