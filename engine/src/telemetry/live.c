#include "telemetry/live.h"

#include "base/clock.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct live {
	int fd;
	uint64_t time_ns; /* of the line before */
	uint64_t bytes;
};

struct live *live_open(const char *path, struct failure *failure)
{
	struct live *live = calloc(1, sizeof(*live));
	if (live == NULL) {
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	if (strcmp(path, "-") == 0)
		live->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		live->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (live->fd < 0) {
		(void)failure_set_errno(failure, errno, "cannot write progress to '%s'", path);
		free(live);
		return NULL;
	}
	return live;
}

static int text_write(int fd, const char *text, struct failure *failure)
{
	size_t left = strlen(text);
	while (left > 0) {
		ssize_t written = write(fd, text, left);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return failure_set_errno(failure, errno, "cannot write progress");
		text += written;
		left -= (size_t)written;
	}
	return 0;
}

static cJSON *stream_json(const struct live_stream *stream, unsigned index)
{
	cJSON *object = cJSON_CreateObject();
	json_add_u64(object, "stream", index);
	json_add_u64(object, "bytes", stream->bytes);
	json_add_u64(object, "retransmits", stream->retransmits);
	json_add_u64(object, "cwnd_packets", stream->cwnd_packets);
	json_add_u64(object, "srtt_us", stream->srtt_us);
	json_add_u64(object, "delivery_rate_bps", stream->delivery_rate_bps);
	json_add_u64(object, "busy_us", stream->busy_us);
	json_add_u64(object, "rwnd_limited_us", stream->rwnd_limited_us);
	json_add_u64(object, "sndbuf_limited_us", stream->sndbuf_limited_us);
	return object;
}

static cJSON *line_compose(struct live *live, uint64_t time_ns, const struct live_stream *streams,
			   unsigned count, unsigned streams_open)
{
	uint64_t bytes = 0;
	uint64_t retransmits = 0;
	cJSON *list = cJSON_CreateArray();
	for (unsigned i = 0; i < count; i++) {
		bytes += streams[i].bytes;
		retransmits += streams[i].retransmits;
		(void)cJSON_AddItemToArray(list, stream_json(&streams[i], i));
	}
	uint64_t elapsed_ns = time_ns - live->time_ns;
	uint64_t fresh = bytes > live->bytes ? bytes - live->bytes : 0;
	double rate = elapsed_ns != 0 ? (double)fresh * 8e9 / (double)elapsed_ns : 0.0;
	cJSON *line = cJSON_CreateObject();
	json_add_seconds(line, "time_s", time_ns);
	json_add_u64(line, "bytes", bytes);
	json_add_u64(line, "goodput_bps", (uint64_t)rate);
	json_add_u64(line, "retransmits", retransmits);
	json_add_u64(line, "streams_open", streams_open);
	json_add_item(line, "streams", list);
	live->time_ns = time_ns;
	live->bytes = bytes;
	return line;
}

/* Takes the object over. */
static int line_write(const struct live *live, cJSON *object, struct failure *failure)
{
	char *text = json_print(object);
	cJSON_Delete(object);
	/* One write per line: a reader never sees half of one. */
	size_t length = strlen(text);
	char *line = realloc(text, length + 2);
	if (line == NULL) {
		free(text);
		return failure_set(failure, "out of memory");
	}
	memcpy(line + length, "\n", 2);
	int status = text_write(live->fd, line, failure);
	free(line);
	/* A reader beyond the guest's file system sees it only once it left the page cache; pipes
	 * and terminals have none and refuse. */
	(void)sync_file_range(live->fd, 0, 0,
			      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				  SYNC_FILE_RANGE_WAIT_AFTER);
	return status;
}

int live_start(struct live *live, uint64_t start_ns, unsigned streams_open, struct failure *failure)
{
	cJSON *line = line_compose(live, 0, NULL, 0, streams_open);
	json_add_u64(line, "start_monotonic_ns", start_ns);
	return line_write(live, line, failure);
}

int live_write(struct live *live, uint64_t time_ns, const struct live_stream *streams,
	       unsigned count, unsigned streams_open, struct failure *failure)
{
	return line_write(live, line_compose(live, time_ns, streams, count, streams_open), failure);
}

int live_close(struct live *live, struct failure *failure)
{
	if (live == NULL)
		return 0;
	int status =
	    close(live->fd) != 0 ? failure_set_errno(failure, errno, "cannot write progress") : 0;
	free(live);
	return status;
}
