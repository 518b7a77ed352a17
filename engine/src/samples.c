#include "samples.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)1 << 20)
#define COLUMNS      21
#define OWN_COLUMNS  3 /* before those of TCP_INFO */
/* 20 digits and a separator per column. */
#define COLUMN_BYTES ((size_t)21)

static const char header[] =
    "time_ns,stream,bytes,cwnd_packets,ssthresh_packets,srtt_us,rttvar_us,min_rtt_us,retransmits,"
    "lost_packets,in_flight_packets,state,delivery_rate_bps,pacing_rate_bps,busy_us,"
    "rwnd_limited_us,sndbuf_limited_us,rcv_space_bytes,snd_wnd_bytes,bytes_retransmitted,"
    "mss_bytes\n";

struct samples {
	int fd;
	enum samples_format format;
	size_t row_bytes; /* at most */
	size_t used;
	size_t begun; /* where the rows of the last point in time begin */
	uint64_t last_ns;
	uint64_t written_ns;
	char bytes[BUFFER_BYTES];
};

static void header_write(struct samples *samples)
{
	if (samples->format == SAMPLES_SERIES) {
		samples->row_bytes = COLUMNS * COLUMN_BYTES;
		samples->used = sizeof(header) - 1;
		memcpy(samples->bytes, header, samples->used);
		return;
	}
	unsigned count = tcp_info_member_count();
	samples->row_bytes = (OWN_COLUMNS + count) * COLUMN_BYTES;
	char *at = stpcpy(samples->bytes, "time_ns,stream,bytes");
	for (unsigned i = 0; i < count; i++) {
		*at++ = ',';
		at = stpcpy(at, tcp_info_member_name(i));
	}
	*at++ = '\n';
	samples->used = (size_t)(at - samples->bytes);
}

struct samples *samples_open(const char *path, enum samples_format format, struct failure *failure)
{
	struct samples *samples = malloc(sizeof(*samples));
	if (samples == NULL) {
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	samples->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (samples->fd < 0) {
		(void)failure_set_errno(failure, errno, "cannot write samples to '%s'", path);
		free(samples);
		return NULL;
	}
	/* Every page is touched now, so that no page fault disturbs the transfer. */
	memset(samples->bytes, 0, sizeof(samples->bytes));
	samples->format = format;
	header_write(samples);
	samples->begun = samples->used;
	samples->last_ns = 0;
	samples->written_ns = 0;
	return samples;
}

static int samples_flush(struct samples *samples, struct failure *failure)
{
	size_t done = 0;
	while (done < samples->used) {
		ssize_t written = write(samples->fd, samples->bytes + done, samples->used - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			int error = errno;
			/* Rows beyond a full disk are lost: the failure says so. */
			samples->used = 0;
			samples->begun = 0;
			return failure_set_errno(failure, error, "cannot write samples");
		}
		done += (size_t)written;
	}
	samples->used = 0;
	samples->begun = 0;
	return 0;
}

int samples_begin(struct samples *samples, unsigned rows, struct failure *failure)
{
	int status = 0;
	/* Rows that may be taken back must not leave the buffer half. A transfer that is killed
	 * keeps what it measured, but for the last moments. */
	if (sizeof(samples->bytes) - samples->used < rows * samples->row_bytes ||
	    samples->last_ns - samples->written_ns >= NS_PER_S) {
		status = samples_flush(samples, failure);
		samples->written_ns = samples->last_ns;
	}
	samples->begun = samples->used;
	return status;
}

void samples_withdraw(struct samples *samples)
{
	samples->used = samples->begun;
}

/* Some thousand numbers per second and stream: snprintf would be most of the work. */
static char *number_write(char *at, uint64_t value, char separator)
{
	char digits[20];
	unsigned count = 0;
	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value != 0);
	while (count > 0)
		*at++ = digits[--count];
	*at++ = separator;
	return at;
}

static char *series_write(char *at, const struct sample *sample)
{
	const struct tcp_info_raw *raw = &sample->info->raw;
	const uint64_t columns[COLUMNS] = {
	    sample->time_ns,
	    sample->stream,
	    sample->bytes,
	    raw->snd_cwnd,
	    raw->snd_ssthresh,
	    raw->rtt,
	    raw->rttvar,
	    tcp_info_min_rtt_us(sample->info),
	    raw->total_retrans,
	    raw->lost,
	    tcp_info_in_flight(sample->info),
	    raw->ca_state,
	    tcp_info_rate_bps(raw->delivery_rate),
	    tcp_info_rate_bps(raw->pacing_rate),
	    raw->busy_time,
	    raw->rwnd_limited,
	    raw->sndbuf_limited,
	    raw->rcv_space,
	    raw->snd_wnd,
	    raw->bytes_retrans,
	    raw->snd_mss,
	};
	for (unsigned i = 0; i < COLUMNS; i++)
		at = number_write(at, columns[i], i + 1 < COLUMNS ? ',' : '\n');
	return at;
}

static char *tcp_info_write(char *at, const struct sample *sample)
{
	unsigned count = tcp_info_member_count();
	at = number_write(at, sample->time_ns, ',');
	at = number_write(at, sample->stream, ',');
	at = number_write(at, sample->bytes, ',');
	for (unsigned i = 0; i < count; i++) {
		uint64_t value;
		char separator = i + 1 < count ? ',' : '\n';
		if (tcp_info_member(sample->info, i, &value))
			at = number_write(at, value, separator);
		else
			*at++ = separator;
	}
	return at;
}

int samples_add(struct samples *samples, const struct sample *sample, struct failure *failure)
{
	if (sizeof(samples->bytes) - samples->used < samples->row_bytes &&
	    samples_flush(samples, failure) != 0)
		return -1;
	char *at = samples->bytes + samples->used;
	at = samples->format == SAMPLES_SERIES ? series_write(at, sample)
					       : tcp_info_write(at, sample);
	samples->used = (size_t)(at - samples->bytes);
	samples->last_ns = sample->time_ns;
	return 0;
}

int samples_close(struct samples *samples, struct failure *failure)
{
	if (samples == NULL)
		return 0;
	int status = samples_flush(samples, failure);
	if (close(samples->fd) != 0)
		status = failure_set_errno(failure, errno, "cannot write samples");
	free(samples);
	return status;
}
