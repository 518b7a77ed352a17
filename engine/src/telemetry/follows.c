#include "telemetry/follows.h"

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

struct follows {
	struct sampler_plan plan;
	struct failure failure;
	uint64_t start_ns;
	uint64_t row_ns; /* time of the newest row */
	bool slept;      /* when sockets were last read */
	bool contended;  /* so it did twice running */
	struct follow each[];
};

struct follows *follows_create(const struct sampler_plan *plan)
{
	unsigned count = streams_count(plan->streams);
	struct follows *follows = calloc(1, sizeof(*follows) + count * sizeof(follows->each[0]));
	if (follows != NULL)
		follows->plan = *plan;
	if (follows != NULL && plan->tcp_info != NULL)
		streams_ask_control(plan->streams);
	return follows;
}

void follows_destroy(struct follows *follows)
{
	free(follows);
}

void follows_start(struct follows *follows, uint64_t start_ns)
{
	follows->start_ns = start_ns;
	if (follows->plan.live != NULL)
		(void)live_start(follows->plan.live, start_ns, streams_count(follows->plan.streams),
				 &follows->failure);
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
static uint64_t payload_count(const struct follows *follows, const struct tcp_info *info,
			      const struct stream_view *stream, uint64_t before)
{
	bool sends = follows->plan.side == TUNE_SEND;
	uint64_t begin = sends ? 1 : 0;
	uint64_t end = end_is_counted(info->raw.state, sends) ? 1 : 0;
	uint64_t extra = follows->plan.preamble_bytes + begin + end;
	uint64_t counted = sends ? info->raw.bytes_acked : info->raw.bytes_received;
	uint64_t bytes =
	    streams_payload(follows->plan.streams, counted > extra ? counted - extra : 0);
	if (!stream->finished || bytes <= stream->bytes)
		return bytes;
	/*
	 * A thread that ended knows exactly, and what its end added must not count. At a time limit
	 * rows before may have had what the socket held and nobody read in time.
	 */
	return stream->bytes > before ? stream->bytes : before;
}

static void view_take(struct follows *follows, unsigned index, const struct tcp_info *info)
{
	struct sampler_view *view = &follows->each[index].view;
	struct stream_view stream;
	streams_look(follows->plan.streams, index, &stream);
	uint32_t min_rtt_us = tcp_info_min_rtt_us(info);
	view->info = *info;
	view->bytes = payload_count(follows, info, &stream, view->bytes);
	if (min_rtt_us != 0 && (view->min_rtt_us == 0 || min_rtt_us < view->min_rtt_us))
		view->min_rtt_us = min_rtt_us;
	if (info->raw.snd_wnd > view->max_snd_wnd)
		view->max_snd_wnd = info->raw.snd_wnd;
	if (info->raw.rtt > view->max_rtt_us)
		view->max_rtt_us = info->raw.rtt;
}

static void stream_read(struct follows *follows, unsigned index, uint64_t time_ns)
{
	struct tcp_info info;
	/* A connection that cannot be asked any more keeps its last figures. */
	if (streams_info_read(follows->plan.streams, index, &info)) {
		if (follows->plan.tcp_info != NULL)
			tcp_info_read_control(streams_fd(follows->plan.streams, index), &info);
		view_take(follows, index, &info);
	}
	follows->each[index].time_ns = time_ns;
}

/* Times that this thread went to sleep. */
static long sleeps(void)
{
	struct rusage usage = {0};
	(void)getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

uint64_t follows_crowd_ns(uint64_t step_ns)
{
	return step_ns / CROWDED;
}

static uint64_t crowd_ns(const struct follows *follows)
{
	return follows_crowd_ns(follows->plan.interval_ns);
}

/* What the stream's thread answered since its last row, if it came a while before `until_ns`. */
static void answer_take(struct follows *follows, unsigned index, uint64_t until_ns)
{
	struct follow *follow = &follows->each[index];
	const struct stream_answer *answer = streams_answer(follows->plan.streams, index);
	if (answer == NULL || answer->time_ns <= follows->start_ns)
		return;
	uint64_t time_ns = answer->time_ns - follows->start_ns;
	if (time_ns < follow->row_ns + crowd_ns(follows) || time_ns > until_ns)
		return;
	view_take(follows, index, &answer->info);
	follow->time_ns = time_ns;
}

/*
 * Who must sleep while it reads the sockets met a lock that its stream's thread holds, and does so
 * again: threads that make calls all the time are then asked instead. One that does not answer
 * within an interval may be blocked, and its socket's lock is free: then that is read.
 */
static void streams_sample(struct follows *follows, uint64_t time_ns)
{
	struct streams *streams = follows->plan.streams;
	long before = sleeps();
	for (unsigned i = 0; i < streams_count(streams); i++)
		if (!follows->each[i].asks || streams_answer(streams, i) == NULL)
			stream_read(follows, i, time_ns);
	bool slept = sleeps() != before;
	follows->contended = follows->contended || (slept && follows->slept);
	follows->slept = slept;
	for (unsigned i = 0; i < streams_count(streams); i++) {
		struct follow *follow = &follows->each[i];
		uint64_t calls = streams_calls(streams, i);
		if (follow->time_ns != time_ns) {
			answer_take(follows, i, time_ns);
			streams_ask(streams, i, 0);
		} else {
			follow->asks = follows->contended && calls - follow->calls >= BUSY_CALLS;
		}
		follow->calls = calls;
	}
}

static void samples_write(struct follows *follows, struct samples *samples)
{
	if (samples == NULL)
		return;
	(void)samples_begin(samples, streams_count(follows->plan.streams), &follows->failure);
	for (unsigned i = 0; i < streams_count(follows->plan.streams); i++) {
		const struct follow *follow = &follows->each[i];
		struct sample sample = {.time_ns = follow->time_ns,
					.stream = i,
					.bytes = follow->view.bytes,
					.info = &follow->view.info};
		/* The first failure is kept; the transfer itself goes on. */
		if (follow->time_ns > follow->row_ns)
			(void)samples_add(samples, &sample, &follows->failure);
	}
}

/* Of the readings that are newer than the stream's last row. */
static void rows_write(struct follows *follows)
{
	samples_write(follows, follows->plan.samples);
	samples_write(follows, follows->plan.tcp_info);
	for (unsigned i = 0; i < streams_count(follows->plan.streams); i++) {
		struct follow *follow = &follows->each[i];
		if (follow->time_ns > follow->row_ns)
			follow->row_ns = follow->time_ns;
		if (follow->row_ns > follows->row_ns)
			follows->row_ns = follow->row_ns;
	}
}

static void rows_withdraw(const struct follows *follows)
{
	if (follows->plan.samples != NULL)
		samples_withdraw(follows->plan.samples);
	if (follows->plan.tcp_info != NULL)
		samples_withdraw(follows->plan.tcp_info);
}

void follows_sample(struct follows *follows, uint64_t now)
{
	streams_sample(follows, now);
	rows_write(follows);
}

bool follows_lines_wanted(const struct follows *follows)
{
	return follows->plan.live != NULL || follows->plan.intervals != NULL;
}

static void line_write(struct follows *follows, uint64_t time_ns)
{
	struct live_stream now[STREAMS_LIMIT];
	unsigned count = streams_count(follows->plan.streams);
	for (unsigned i = 0; i < count; i++) {
		const struct sampler_view *view = &follows->each[i].view;
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
	if (follows->plan.live != NULL)
		(void)live_write(follows->plan.live, time_ns, now, count,
				 streams_open_count(follows->plan.streams), &follows->failure);
	if (follows->plan.intervals != NULL)
		intervals_print(follows->plan.intervals, time_ns, now);
}

/* A line says how things are now: what the rows have not seen yet is read for it. */
static void lines_sample(struct follows *follows, uint64_t now)
{
	for (unsigned i = 0; i < streams_count(follows->plan.streams); i++)
		if (follows->each[i].time_ns != now)
			stream_read(follows, i, 0);
}

void follows_line(struct follows *follows, uint64_t now)
{
	lines_sample(follows, now);
	line_write(follows, now);
}

/* The last ones come when the transfer ends, wherever in the grid that is. */
void follows_last(struct follows *follows, uint64_t now)
{
	unsigned count = streams_count(follows->plan.streams);
	/* Rows a moment apart would be a division by nearly nothing: the last one replaces the
	 * other. */
	if (follows->row_ns != 0 && now - follows->row_ns < crowd_ns(follows))
		rows_withdraw(follows);
	for (unsigned i = 0; i < count && now > crowd_ns(follows); i++)
		if (follows->each[i].asks)
			answer_take(follows, i, now - crowd_ns(follows));
	rows_write(follows);
	for (unsigned i = 0; i < count; i++)
		stream_read(follows, i, now);
	rows_write(follows);
	line_write(follows, now);
}

static bool rows_are_due(const struct follows *follows, const struct samples *samples)
{
	return samples != NULL && samples_due(samples, streams_count(follows->plan.streams));
}

/* Have all been asked, and answered? */
static bool all_answered(const struct follows *follows)
{
	const struct streams *streams = follows->plan.streams;
	for (unsigned i = 0; i < streams_count(streams); i++)
		if (!follows->each[i].asks || streams_answer(streams, i) == NULL)
			return false;
	return true;
}

bool follows_answered(const struct follows *follows)
{
	return all_answered(follows) && !rows_are_due(follows, follows->plan.samples) &&
	       !rows_are_due(follows, follows->plan.tcp_info);
}

void follows_answers_take(struct follows *follows, uint64_t now, uint64_t next)
{
	struct streams *streams = follows->plan.streams;
	for (unsigned i = 0; i < streams_count(streams); i++)
		answer_take(follows, i, now);
	rows_write(follows);
	for (unsigned i = 0; i < streams_count(streams); i++) {
		follows->each[i].calls = streams_calls(streams, i);
		streams_ask(streams, i, follows->start_ns + next);
	}
}

const struct sampler_view *follows_look(const struct follows *follows, unsigned index)
{
	return &follows->each[index].view;
}

const char *follows_error(const struct follows *follows)
{
	return follows->failure.set ? follows->failure.text : NULL;
}
