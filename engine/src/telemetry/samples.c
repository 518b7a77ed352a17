#include "telemetry/samples.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Some seconds of ten streams every 10 ms, and more than one point in time of all that there may
 * be. */
#define ROWS_MAX    4096
#define TEXT_BYTES  ((size_t)1 << 16)
#define OWN_COLUMNS 3 /* before those of TCP_INFO */
/* 20 digits and a separator per column. */
#define COLUMN_BYTES ((size_t)21)

/* The columns of a series, each with its value of a row: landspeed/results/sample_columns.py has
 * the same names in the same order. */
#define SERIES(COLUMN)                                                                             \
	COLUMN("time_ns", row->time_ns)                                                            \
	COLUMN("stream", row->stream)                                                              \
	COLUMN("bytes", row->bytes)                                                                \
	COLUMN("cwnd_packets", raw->snd_cwnd)                                                      \
	COLUMN("ssthresh_packets", raw->snd_ssthresh)                                              \
	COLUMN("srtt_us", raw->rtt)                                                                \
	COLUMN("rttvar_us", raw->rttvar)                                                           \
	COLUMN("min_rtt_us", tcp_info_min_rtt_us(&row->info))                                      \
	COLUMN("retransmits", raw->total_retrans)                                                  \
	COLUMN("lost_packets", raw->lost)                                                          \
	COLUMN("in_flight_packets", tcp_info_in_flight(&row->info))                                \
	COLUMN("state", raw->ca_state)                                                             \
	COLUMN("delivery_rate_bps", tcp_info_rate_bps(raw->delivery_rate))                         \
	COLUMN("pacing_rate_bps", tcp_info_rate_bps(raw->pacing_rate))                             \
	COLUMN("busy_us", raw->busy_time)                                                          \
	COLUMN("rwnd_limited_us", raw->rwnd_limited)                                               \
	COLUMN("sndbuf_limited_us", raw->sndbuf_limited)                                           \
	COLUMN("rcv_space_bytes", raw->rcv_space)                                                  \
	COLUMN("snd_wnd_bytes", raw->snd_wnd)                                                      \
	COLUMN("bytes_retransmitted", raw->bytes_retrans)                                          \
	COLUMN("mss_bytes", raw->snd_mss)
#define ITEM(name, value)  (name),
#define NAME(name, value)  "," name
#define VALUE(name, value) (value),
#define COLUMNS            (sizeof((const char *const[]){SERIES(ITEM)}) / sizeof(const char *))

static const char header[] = SERIES(NAME) "\n"; /* after a comma */

struct row {
	uint64_t time_ns;
	uint64_t bytes;
	unsigned stream;
	struct tcp_info info;
};

struct samples {
	int fd;
	enum samples_format format;
	unsigned count;
	unsigned begun; /* where the rows of the last point in time begin */
	uint64_t last_ns;
	uint64_t written_ns;
	size_t row_bytes; /* of text, at most */
	size_t used;
	struct row rows[ROWS_MAX];
	char text[TEXT_BYTES];
};

static void header_write(struct samples *samples)
{
	if (samples->format == SAMPLES_SERIES) {
		samples->row_bytes = COLUMNS * COLUMN_BYTES;
		samples->used = sizeof(header) - 2;
		memcpy(samples->text, header + 1, samples->used);
		return;
	}
	unsigned count = tcp_info_member_count();
	samples->row_bytes = (OWN_COLUMNS + count) * COLUMN_BYTES;
	char *at = stpcpy(samples->text, "time_ns,stream,bytes");
	for (unsigned i = 0; i < count; i++) {
		*at++ = ',';
		at = stpcpy(at, tcp_info_member_name(i));
	}
	*at++ = '\n';
	samples->used = (size_t)(at - samples->text);
}

struct samples *samples_open(const char *path, enum samples_format format, struct failure *failure)
{
	struct samples *samples = malloc(sizeof(*samples));
	if (samples == NULL) {
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	/* Every page is touched now, so that no page fault disturbs the transfer. */
	memset(samples, 0, sizeof(*samples));
	samples->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (samples->fd < 0) {
		(void)failure_set_errno(failure, errno, "cannot write samples to '%s'", path);
		free(samples);
		return NULL;
	}
	samples->format = format;
	header_write(samples);
	return samples;
}

/* "00", "01" ... "99": two digits with one division. */
#define TEN(tens)                                                                                  \
	tens "0" tens "1" tens "2" tens "3" tens "4" tens "5" tens "6" tens "7" tens "8" tens "9"
static const char pairs[] =
    TEN("0") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5") TEN("6") TEN("7") TEN("8") TEN("9");

static unsigned digit_count(uint64_t value)
{
	unsigned count = 1;
	for (; value >= 10000; value /= 10000)
		count += 4;
	return count + (value >= 10 ? 1 : 0) + (value >= 100 ? 1 : 0) + (value >= 1000 ? 1 : 0);
}

/* Some ten thousand numbers per second and stream: snprintf would be most of the work. */
static char *number_write(char *at, uint64_t value, char separator)
{
	char *end = at + digit_count(value);
	char *digit = end;
	for (; value >= 10; value /= 100)
		memcpy(digit -= 2, pairs + value % 100 * 2, 2);
	if (digit > at)
		*at = (char)('0' + value);
	*end = separator;
	return end + 1;
}

static char *series_write(char *at, const struct row *row)
{
	const struct tcp_info_raw *raw = &row->info.raw;
	const uint64_t columns[COLUMNS] = {SERIES(VALUE)};
	for (unsigned i = 0; i < COLUMNS; i++)
		at = number_write(at, columns[i], i + 1 < COLUMNS ? ',' : '\n');
	return at;
}

static char *tcp_info_write(char *at, const struct row *row)
{
	unsigned count = tcp_info_member_count();
	at = number_write(at, row->time_ns, ',');
	at = number_write(at, row->stream, ',');
	at = number_write(at, row->bytes, ',');
	for (unsigned i = 0; i < count; i++) {
		uint64_t value;
		char separator = i + 1 < count ? ',' : '\n';
		if (tcp_info_member(&row->info, i, &value))
			at = number_write(at, value, separator);
		else
			*at++ = separator;
	}
	return at;
}

static int text_write(struct samples *samples, struct failure *failure)
{
	size_t done = 0;
	while (done < samples->used) {
		ssize_t written = write(samples->fd, samples->text + done, samples->used - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			break;
		done += (size_t)written;
	}
	/* Rows beyond a full disk are lost: the failure says so. */
	int error = done < samples->used ? errno : 0;
	samples->used = 0;
	return error != 0 ? failure_set_errno(failure, error, "cannot write samples") : 0;
}

/* All at once: after 10 ms of a fast transfer neither code nor tables are in any cache. */
static int samples_flush(struct samples *samples, struct failure *failure)
{
	int status = 0;
	for (unsigned i = 0; i < samples->count; i++) {
		if (sizeof(samples->text) - samples->used < samples->row_bytes &&
		    text_write(samples, failure) != 0)
			status = -1;
		char *at = samples->text + samples->used;
		at = samples->format == SAMPLES_SERIES ? series_write(at, &samples->rows[i])
						       : tcp_info_write(at, &samples->rows[i]);
		samples->used = (size_t)(at - samples->text);
	}
	samples->count = 0;
	samples->begun = 0;
	return text_write(samples, failure) != 0 ? -1 : status;
}

bool samples_due(const struct samples *samples, unsigned rows)
{
	return ROWS_MAX - samples->count < rows ||
	       samples->last_ns >= samples->written_ns + NS_PER_S;
}

int samples_begin(struct samples *samples, unsigned rows, struct failure *failure)
{
	int status = 0;
	/* Rows that may be taken back must not leave the memory half. A transfer that is killed
	 * keeps what it measured, but for the last moments. */
	if (samples_due(samples, rows)) {
		status = samples_flush(samples, failure);
		samples->written_ns = samples->last_ns;
	}
	samples->begun = samples->count;
	return status;
}

void samples_withdraw(struct samples *samples)
{
	samples->count = samples->begun;
}

int samples_add(struct samples *samples, const struct sample *sample, struct failure *failure)
{
	if (samples->count == ROWS_MAX && samples_flush(samples, failure) != 0)
		return -1;
	samples->rows[samples->count++] = (struct row){.time_ns = sample->time_ns,
						       .bytes = sample->bytes,
						       .stream = sample->stream,
						       .info = *sample->info};
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
