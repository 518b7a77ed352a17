#include "telemetry/stream_monitor.h"

#include "base/clock.h"
#include "base/limits.h"

#include <stdlib.h>
#include <sys/resource.h>

/* Rows of one stream are this part of the interval apart, or more. */
#define CROWDED 4
/* A thread that makes so many calls in an interval has one soon. */
#define BUSY_CALLS 4

struct follow {
	struct sampler_view view;
	uint64_t time_ns; /* of the reading in the view; 0: not for a row */
	uint64_t row_ns;  /* time of the last row */
	uint64_t calls;   /* at the last row */
	bool asks;        /* its thread, not its socket */
};

struct stream_monitor {
	struct sampler_plan plan;
	struct failure failure;
	uint64_t start_ns;
	uint64_t row_ns; /* time of the newest row */
	bool slept;      /* when sockets were last read */
	bool contended;  /* so it did twice running */
	struct follow each[];
};

struct stream_monitor *monitor_create(const struct sampler_plan *plan)
{
	unsigned count = streams_count(plan->streams);
	struct stream_monitor *monitor =
	    calloc(1, sizeof(*monitor) + count * sizeof(monitor->each[0]));
	if (monitor != NULL)
		monitor->plan = *plan;
	if (monitor != NULL && plan->tcp_info != NULL)
		streams_ask_control(plan->streams);
	return monitor;
}

void monitor_destroy(struct stream_monitor *monitor)
{
	free(monitor);
}

void monitor_start(struct stream_monitor *monitor, uint64_t start_ns)
{
	monitor->start_ns = start_ns;
	if (monitor->plan.live != NULL)
		(void)live_start(monitor->plan.live, start_ns, streams_count(monitor->plan.streams),
				 &monitor->failure);
}

/* Has the end of the direction that is counted been counted too? */
static bool end_is_counted(uint8_t state, bool sends)
{
	switch (state) {
	case TCP_STATE_TIME_WAIT:
		return true;
	case TCP_STATE_FIN_WAIT2:
		return sends;
	case TCP_STATE_CLOSE_WAIT:
	case TCP_STATE_LAST_ACK:
	case TCP_STATE_CLOSING:
		return !sends;
	default:
		return false;
	}
}

/*
 * Payload only: the kernel counts hello or challenge, heads and tags of records, and the ends of
 * the connection as a byte each. `before`: the last row's, which no later one is below.
 */
static uint64_t payload_count(const struct stream_monitor *monitor, const struct tcp_info *info,
			      const struct stream_view *stream, uint64_t before)
{
	bool sends = monitor->plan.side == TUNE_SEND;
	uint64_t begin = sends ? 1 : 0;
	uint64_t end = end_is_counted(info->raw.state, sends) ? 1 : 0;
	uint64_t extra = monitor->plan.preamble_bytes + begin + end;
	uint64_t counted = sends ? info->raw.bytes_acked : info->raw.bytes_received;
	uint64_t bytes =
	    streams_payload(monitor->plan.streams, counted > extra ? counted - extra : 0);
	if (!stream->finished || bytes <= stream->bytes)
		return bytes;
	/*
	 * A thread that ended knows exactly, and what its end added must not count. At a time limit
	 * rows before may have had what the socket held and nobody read in time.
	 */
	return stream->bytes > before ? stream->bytes : before;
}

static void view_take(struct stream_monitor *monitor, unsigned index, const struct tcp_info *info)
{
	struct sampler_view *view = &monitor->each[index].view;
	struct stream_view stream;
	streams_look(monitor->plan.streams, index, &stream);
	uint32_t min_rtt_us = tcp_info_min_rtt_us(info);
	view->info = *info;
	view->bytes = payload_count(monitor, info, &stream, view->bytes);
	if (min_rtt_us != 0 && (view->min_rtt_us == 0 || min_rtt_us < view->min_rtt_us))
		view->min_rtt_us = min_rtt_us;
	if (info->raw.snd_wnd > view->max_snd_wnd)
		view->max_snd_wnd = info->raw.snd_wnd;
	if (info->raw.rtt > view->max_rtt_us)
		view->max_rtt_us = info->raw.rtt;
}

static void stream_read(struct stream_monitor *monitor, unsigned index, uint64_t time_ns)
{
	struct tcp_info info;
	/* A connection that cannot be asked any more keeps its last figures. */
	if (streams_info_read(monitor->plan.streams, index, &info)) {
		if (monitor->plan.tcp_info != NULL)
			tcp_info_read_control(streams_fd(monitor->plan.streams, index), &info);
		view_take(monitor, index, &info);
	}
	monitor->each[index].time_ns = time_ns;
}

/* Times that this thread went to sleep. */
static long sleeps(void)
{
	struct rusage usage = {0};
	(void)getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

uint64_t monitor_gap_ns(uint64_t step_ns)
{
	return step_ns / CROWDED;
}

static uint64_t crowd_ns(const struct stream_monitor *monitor)
{
	return monitor_gap_ns(monitor->plan.interval_ns);
}

/* What the stream's thread answered since its last row, if it came a while before `until_ns`. */
static void answer_take(struct stream_monitor *monitor, unsigned index, uint64_t until_ns)
{
	struct follow *follow = &monitor->each[index];
	const struct stream_answer *answer = streams_answer(monitor->plan.streams, index);
	if (answer == NULL || answer->time_ns <= monitor->start_ns)
		return;
	uint64_t time_ns = answer->time_ns - monitor->start_ns;
	if (time_ns < follow->row_ns + crowd_ns(monitor) || time_ns > until_ns)
		return;
	view_take(monitor, index, &answer->info);
	follow->time_ns = time_ns;
}

static bool is_busy(const struct stream_monitor *monitor, unsigned index)
{
	uint64_t calls = streams_calls(monitor->plan.streams, index);
	return calls - monitor->each[index].calls >= BUSY_CALLS;
}

/* Whether it matters that this thread sleeps; two system calls for each row where it does. */
static bool sleeps_matter(const struct stream_monitor *monitor)
{
	for (unsigned i = 0; !monitor->contended && i < streams_count(monitor->plan.streams); i++)
		if (is_busy(monitor, i))
			return true;
	return false;
}

/*
 * Who must sleep while it reads the sockets met a lock that its stream's thread holds, and does so
 * again: threads that make calls all the time are then asked instead. One that does not answer
 * within an interval may be blocked, and its socket's lock is free: then that is read.
 */
static void streams_sample(struct stream_monitor *monitor, uint64_t time_ns)
{
	struct streams *streams = monitor->plan.streams;
	bool matters = sleeps_matter(monitor);
	long before = matters ? sleeps() : 0;
	for (unsigned i = 0; i < streams_count(streams); i++)
		if (!monitor->each[i].asks || streams_answer(streams, i) == NULL)
			stream_read(monitor, i, time_ns);
	bool slept = matters && sleeps() != before;
	monitor->contended = monitor->contended || (slept && monitor->slept);
	monitor->slept = slept;
	for (unsigned i = 0; i < streams_count(streams); i++) {
		struct follow *follow = &monitor->each[i];
		if (follow->time_ns != time_ns) {
			answer_take(monitor, i, time_ns);
			streams_ask(streams, i, 0);
		} else {
			follow->asks = monitor->contended && is_busy(monitor, i);
		}
		follow->calls = streams_calls(streams, i);
	}
}

static void samples_write(struct stream_monitor *monitor, struct samples *samples)
{
	if (samples == NULL)
		return;
	(void)samples_begin(samples, streams_count(monitor->plan.streams), &monitor->failure);
	for (unsigned i = 0; i < streams_count(monitor->plan.streams); i++) {
		const struct follow *follow = &monitor->each[i];
		struct sample sample = {.time_ns = follow->time_ns,
					.stream = i,
					.bytes = follow->view.bytes,
					.info = &follow->view.info};
		/* The first failure is kept; the transfer itself goes on. */
		if (follow->time_ns > follow->row_ns)
			(void)samples_add(samples, &sample, &monitor->failure);
	}
}

/* Of the readings that are newer than the stream's last row. */
static void rows_write(struct stream_monitor *monitor)
{
	samples_write(monitor, monitor->plan.samples);
	samples_write(monitor, monitor->plan.tcp_info);
	for (unsigned i = 0; i < streams_count(monitor->plan.streams); i++) {
		struct follow *follow = &monitor->each[i];
		if (follow->time_ns > follow->row_ns)
			follow->row_ns = follow->time_ns;
		if (follow->row_ns > monitor->row_ns)
			monitor->row_ns = follow->row_ns;
	}
}

static void rows_withdraw(const struct stream_monitor *monitor)
{
	if (monitor->plan.samples != NULL)
		samples_withdraw(monitor->plan.samples);
	if (monitor->plan.tcp_info != NULL)
		samples_withdraw(monitor->plan.tcp_info);
}

void monitor_sample(struct stream_monitor *monitor, uint64_t now)
{
	streams_sample(monitor, now);
	rows_write(monitor);
}

bool monitor_lines_wanted(const struct stream_monitor *monitor)
{
	return monitor->plan.live != NULL || monitor->plan.intervals != NULL;
}

static void line_write(struct stream_monitor *monitor, uint64_t time_ns)
{
	struct live_stream now[STREAMS_LIMIT];
	unsigned count = streams_count(monitor->plan.streams);
	for (unsigned i = 0; i < count; i++) {
		const struct sampler_view *view = &monitor->each[i].view;
		const struct tcp_info_raw *raw = &view->info.raw;
		now[i] = (struct live_stream){
		    .bytes = view->bytes,
		    .retransmits = raw->total_retrans,
		    .cwnd_packets = raw->snd_cwnd,
		    .mss_bytes = raw->snd_mss,
		    .srtt_us = raw->rtt,
		    .delivery_rate_bps = tcp_info_rate_bps(raw->delivery_rate),
		    .busy_us = raw->busy_time,
		    .rwnd_limited_us = raw->rwnd_limited,
		    .sndbuf_limited_us = raw->sndbuf_limited,
		};
	}
	if (monitor->plan.live != NULL)
		(void)live_write(monitor->plan.live, time_ns, now, count,
				 streams_open_count(monitor->plan.streams), &monitor->failure);
	if (monitor->plan.intervals != NULL)
		intervals_print(monitor->plan.intervals, time_ns, now);
}

/* A line says how things are now: what the rows have not seen yet is read for it. */
static void lines_sample(struct stream_monitor *monitor, uint64_t now)
{
	for (unsigned i = 0; i < streams_count(monitor->plan.streams); i++)
		if (monitor->each[i].time_ns != now)
			stream_read(monitor, i, 0);
}

void monitor_line(struct stream_monitor *monitor, uint64_t now)
{
	lines_sample(monitor, now);
	line_write(monitor, now);
}

/* The last ones come when the transfer ends, wherever in the grid that is. */
void monitor_last(struct stream_monitor *monitor, uint64_t now)
{
	unsigned count = streams_count(monitor->plan.streams);
	/* A smaller gap makes rates meaningless: the last row replaces the one before. */
	if (monitor->row_ns != 0 && now - monitor->row_ns < crowd_ns(monitor))
		rows_withdraw(monitor);
	for (unsigned i = 0; i < count && now > crowd_ns(monitor); i++)
		if (monitor->each[i].asks)
			answer_take(monitor, i, now - crowd_ns(monitor));
	rows_write(monitor);
	for (unsigned i = 0; i < count; i++)
		stream_read(monitor, i, now);
	rows_write(monitor);
	line_write(monitor, now);
}

static bool rows_are_due(const struct stream_monitor *monitor, const struct samples *samples)
{
	return samples != NULL && samples_due(samples, streams_count(monitor->plan.streams));
}

/* Have all been asked, and answered? */
static bool all_answered(const struct stream_monitor *monitor)
{
	const struct streams *streams = monitor->plan.streams;
	for (unsigned i = 0; i < streams_count(streams); i++)
		if (!monitor->each[i].asks || streams_answer(streams, i) == NULL)
			return false;
	return true;
}

bool monitor_answered(const struct stream_monitor *monitor)
{
	return all_answered(monitor) && !rows_are_due(monitor, monitor->plan.samples) &&
	       !rows_are_due(monitor, monitor->plan.tcp_info);
}

void monitor_answers_take(struct stream_monitor *monitor, uint64_t now, uint64_t next)
{
	struct streams *streams = monitor->plan.streams;
	for (unsigned i = 0; i < streams_count(streams); i++)
		answer_take(monitor, i, now);
	rows_write(monitor);
	for (unsigned i = 0; i < streams_count(streams); i++) {
		monitor->each[i].calls = streams_calls(streams, i);
		streams_ask(streams, i, monitor->start_ns + next);
	}
}

const struct sampler_view *monitor_look(const struct stream_monitor *monitor, unsigned index)
{
	return &monitor->each[index].view;
}

const char *monitor_error(const struct stream_monitor *monitor)
{
	return monitor->failure.set ? monitor->failure.text : NULL;
}
