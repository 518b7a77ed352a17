#include "sampler.h"

#include "clock.h"
#include "hello.h"
#include "windows.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Rows of one stream are this part of the interval apart, or more. */
#define CROWDED 4
/* A thread that makes so many calls in an interval has one soon. */
#define BUSY_CALLS 4

/* One stream, as it is followed. */
struct follow {
	struct sampler_view view;
	uint64_t time_ns; /* of the reading in the view; 0: not for a row */
	uint64_t row_ns;  /* time of the last row */
	uint64_t calls;   /* at the last row */
	bool asks;        /* its thread, not its socket */
};

struct sampler {
	struct sampler_plan plan;
	struct failure failure;
	int timer_fd;
	pthread_t thread;
	bool running;
	pthread_mutex_t mutex; /* of what follows */
	bool stopping;
	uint64_t start_ns;
	uint64_t row_due_ns;
	uint64_t line_due_ns;
	uint64_t limit_ns;
	uint64_t row_ns; /* time of the newest row */
	bool slept;      /* when sockets were last read */
	bool contended;  /* so it did twice running */
	struct windows *windows;
	struct follow follows[];
};

/* Payload only: the kernel counts our hello, and the ends of the connection as a byte each. */
static uint64_t payload_count(const struct sampler *sampler, const struct tcp_info *info,
			      const struct stream_view *stream)
{
	bool sends = sampler->plan.side == TUNE_SEND;
	uint64_t extra = HELLO_BYTES + (sends ? 1 : 0);
	uint64_t counted = sends ? info->raw.bytes_acked : info->raw.bytes_received;
	uint64_t bytes = counted > extra ? counted - extra : 0;
	/* A thread that ended knows exactly, and what its end added must not count. */
	return stream->finished && bytes > stream->bytes ? stream->bytes : bytes;
}

static void view_take(struct sampler *sampler, unsigned index, const struct tcp_info *info)
{
	struct sampler_view *view = &sampler->follows[index].view;
	struct stream_view stream;
	streams_look(sampler->plan.streams, index, &stream);
	uint32_t min_rtt_us = tcp_info_min_rtt_us(info);
	view->info = *info;
	view->bytes = payload_count(sampler, info, &stream);
	if (min_rtt_us != 0 && (view->min_rtt_us == 0 || min_rtt_us < view->min_rtt_us))
		view->min_rtt_us = min_rtt_us;
	if (info->raw.snd_wnd > view->max_snd_wnd)
		view->max_snd_wnd = info->raw.snd_wnd;
	if (info->raw.rtt > view->max_rtt_us)
		view->max_rtt_us = info->raw.rtt;
}

static void stream_read(struct sampler *sampler, unsigned index, uint64_t time_ns)
{
	struct tcp_info info;
	/* A connection that cannot be asked any more keeps its last figures. */
	if (tcp_info_read(streams_fd(sampler->plan.streams, index), &info))
		view_take(sampler, index, &info);
	sampler->follows[index].time_ns = time_ns;
}

/* Times that this thread went to sleep. */
static long sleeps(void)
{
	struct rusage usage = {0};
	(void)getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static uint64_t crowd_ns(const struct sampler *sampler)
{
	return sampler->plan.interval_ns / CROWDED;
}

/* What the stream's thread answered since its last row, if it came a while before `until_ns`. */
static void answer_take(struct sampler *sampler, unsigned index, uint64_t until_ns)
{
	struct follow *follow = &sampler->follows[index];
	const struct stream_answer *answer = streams_answer(sampler->plan.streams, index);
	if (answer == NULL || answer->time_ns <= sampler->start_ns)
		return;
	uint64_t time_ns = answer->time_ns - sampler->start_ns;
	if (time_ns < follow->row_ns + crowd_ns(sampler) || time_ns > until_ns)
		return;
	view_take(sampler, index, &answer->info);
	follow->time_ns = time_ns;
}

/*
 * Who must sleep while it reads the sockets met a lock that its stream's thread holds, and does so
 * again: threads that make calls all the time are then asked instead. One that does not answer
 * within an interval may be blocked, and its socket's lock is free: then that is read.
 */
static void streams_sample(struct sampler *sampler, uint64_t time_ns)
{
	struct streams *streams = sampler->plan.streams;
	long before = sleeps();
	for (unsigned i = 0; i < streams_count(streams); i++)
		if (!sampler->follows[i].asks || streams_answer(streams, i) == NULL)
			stream_read(sampler, i, time_ns);
	bool slept = sleeps() != before;
	sampler->contended = sampler->contended || (slept && sampler->slept);
	sampler->slept = slept;
	for (unsigned i = 0; i < streams_count(streams); i++) {
		struct follow *follow = &sampler->follows[i];
		uint64_t calls = streams_calls(streams, i);
		if (follow->time_ns != time_ns) {
			answer_take(sampler, i, time_ns);
			streams_ask(streams, i, 0);
		} else {
			follow->asks = sampler->contended && calls - follow->calls >= BUSY_CALLS;
		}
		follow->calls = calls;
	}
}

static void samples_write(struct sampler *sampler, struct samples *samples)
{
	if (samples == NULL)
		return;
	(void)samples_begin(samples, streams_count(sampler->plan.streams), &sampler->failure);
	for (unsigned i = 0; i < streams_count(sampler->plan.streams); i++) {
		const struct follow *follow = &sampler->follows[i];
		struct sample sample = {.time_ns = follow->time_ns,
					.stream = i,
					.bytes = follow->view.bytes,
					.info = &follow->view.info};
		/* The first failure is kept; the transfer itself goes on. */
		if (follow->time_ns > follow->row_ns)
			(void)samples_add(samples, &sample, &sampler->failure);
	}
}

/* Of the readings that are newer than the stream's last row. */
static void rows_write(struct sampler *sampler)
{
	samples_write(sampler, sampler->plan.samples);
	samples_write(sampler, sampler->plan.tcp_info);
	for (unsigned i = 0; i < streams_count(sampler->plan.streams); i++) {
		struct follow *follow = &sampler->follows[i];
		if (follow->time_ns > follow->row_ns)
			follow->row_ns = follow->time_ns;
		if (follow->row_ns > sampler->row_ns)
			sampler->row_ns = follow->row_ns;
	}
}

static void rows_withdraw(const struct sampler *sampler)
{
	if (sampler->plan.samples != NULL)
		samples_withdraw(sampler->plan.samples);
	if (sampler->plan.tcp_info != NULL)
		samples_withdraw(sampler->plan.tcp_info);
}

static bool lines_wanted(const struct sampler *sampler)
{
	return sampler->plan.live != NULL || sampler->plan.intervals != NULL;
}

static void line_write(struct sampler *sampler, uint64_t time_ns)
{
	struct live_stream now[STREAMS_LIMIT];
	unsigned count = streams_count(sampler->plan.streams);
	if (!lines_wanted(sampler))
		return;
	for (unsigned i = 0; i < count; i++) {
		const struct sampler_view *view = &sampler->follows[i].view;
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
	if (sampler->plan.live != NULL)
		(void)live_write(sampler->plan.live, time_ns, now, count,
				 streams_open_count(sampler->plan.streams), &sampler->failure);
	if (sampler->plan.intervals != NULL)
		intervals_print(sampler->plan.intervals, time_ns, now);
}

/*
 * The next point of a grid, a quarter of a step after `now` or later: a sampler that came late
 * skips rows, never crowds them.
 */
static uint64_t grid_next(uint64_t now_ns, uint64_t step_ns)
{
	return ((now_ns + step_ns / CROWDED) / step_ns + 1) * step_ns;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A line says how things are now: what the rows have not seen yet is read for it. */
static void lines_sample(struct sampler *sampler, uint64_t now)
{
	for (unsigned i = 0; i < streams_count(sampler->plan.streams); i++)
		if (sampler->follows[i].time_ns != now)
			stream_read(sampler, i, 0);
}

/* The last ones come when the transfer ends, wherever in the grid that is. */
static void last_rows_write(struct sampler *sampler, uint64_t now)
{
	unsigned count = streams_count(sampler->plan.streams);
	/* Rows a moment apart would be a division by nearly nothing: the last one replaces the
	 * other. */
	if (sampler->row_ns != 0 && now - sampler->row_ns < crowd_ns(sampler))
		rows_withdraw(sampler);
	for (unsigned i = 0; i < count && now > crowd_ns(sampler); i++)
		if (sampler->follows[i].asks)
			answer_take(sampler, i, now - crowd_ns(sampler));
	rows_write(sampler);
	for (unsigned i = 0; i < count; i++)
		stream_read(sampler, i, now);
	rows_write(sampler);
	line_write(sampler, now);
}

static void timer_set(const struct sampler *sampler, uint64_t at_ns)
{
	const struct itimerspec at = {.it_value = clock_timespec(at_ns)};
	/* Cannot fail: it is a timer, and the time is one. */
	(void)timerfd_settime(sampler->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void timer_arm(const struct sampler *sampler)
{
	uint64_t due = least(least(sampler->row_due_ns, sampler->line_due_ns), sampler->limit_ns);
	timer_set(sampler, windows_due_ns(sampler->windows, sampler->start_ns + due));
}

static void timer_wait(const struct sampler *sampler)
{
	uint64_t expirations;
	/* Set again meanwhile or interrupted: who waits looks at the clock anyway. */
	if (read(sampler->timer_fd, &expirations, sizeof(expirations)) < 0)
		return;
}

static bool rows_are_due(const struct sampler *sampler, const struct samples *samples)
{
	return samples != NULL && samples_due(samples, streams_count(sampler->plan.streams));
}

/* Have all been asked, and answered? */
static bool all_answered(const struct sampler *sampler)
{
	const struct streams *streams = sampler->plan.streams;
	for (unsigned i = 0; i < streams_count(streams); i++)
		if (!sampler->follows[i].asks || streams_answer(streams, i) == NULL)
			return false;
	return true;
}

/*
 * In the thread of the stream that answered last: as long as all answer before the next row is due,
 * the sampler, which writes files, need not wake. A wake-up costs more than all of their answers.
 */
static void answers_take(void *context)
{
	struct sampler *sampler = context;
	struct streams *streams = sampler->plan.streams;
	/* The sampler is at it, and may be writing: no stream waits for that. */
	if (pthread_mutex_trylock(&sampler->mutex) != 0)
		return;
	uint64_t now = clock_monotonic_ns() - sampler->start_ns;
	if (!sampler->stopping && now < sampler->row_due_ns &&
	    sampler->row_due_ns < sampler->limit_ns && all_answered(sampler) &&
	    windows_sampling(sampler->windows) && !rows_are_due(sampler, sampler->plan.samples) &&
	    !rows_are_due(sampler, sampler->plan.tcp_info)) {
		for (unsigned i = 0; i < streams_count(streams); i++)
			answer_take(sampler, i, now);
		rows_write(sampler);
		for (unsigned i = 0; i < streams_count(streams); i++) {
			sampler->follows[i].calls = streams_calls(streams, i);
			streams_ask(streams, i, sampler->start_ns + sampler->row_due_ns);
		}
		sampler->row_due_ns += sampler->plan.interval_ns;
		timer_arm(sampler);
	}
	(void)pthread_mutex_unlock(&sampler->mutex);
}

/* With the mutex: what is due at that time. False when it was the last. */
static bool sampler_act(struct sampler *sampler, uint64_t now)
{
	const struct sampler_plan *plan = &sampler->plan;
	if (now >= sampler->limit_ns || sampler->stopping) {
		last_rows_write(sampler, now);
		return false;
	}
	if (!windows_on(sampler->windows, plan->streams))
		return true;
	if (now >= sampler->row_due_ns) {
		streams_sample(sampler, now);
		rows_write(sampler);
		sampler->row_due_ns = grid_next(now, plan->interval_ns);
	}
	if (now >= sampler->line_due_ns) {
		lines_sample(sampler, now);
		line_write(sampler, now);
		sampler->line_due_ns = grid_next(now, plan->report_ns);
	}
	return true;
}

static void sampler_follow(struct sampler *sampler)
{
	bool more = true;
	(void)pthread_mutex_lock(&sampler->mutex);
	while (more) {
		if (!sampler->stopping) {
			timer_arm(sampler);
			(void)pthread_mutex_unlock(&sampler->mutex);
			timer_wait(sampler);
			(void)pthread_mutex_lock(&sampler->mutex);
		}
		more = sampler_act(sampler, clock_monotonic_ns() - sampler->start_ns);
	}
	sampler->stopping = true;
	(void)pthread_mutex_unlock(&sampler->mutex);
}

/*
 * Its work is little and has its time: it goes before the streams that compute all the time. Where
 * that is not allowed (CAP_SYS_NICE, RLIMIT_RTPRIO) rows of a busy machine may come late.
 */
static void sampler_hurry(void)
{
	const struct sched_param first = {.sched_priority = 1};
	(void)pthread_setschedparam(pthread_self(), SCHED_RR, &first);
}

static void *sampler_run(void *argument)
{
	struct sampler *sampler = argument;
	uint64_t start_ns;
	sampler_hurry();
	if (!gate_wait(streams_gate(sampler->plan.streams), &start_ns) && start_ns == 0)
		return NULL;
	if (sampler->plan.live != NULL)
		(void)live_start(sampler->plan.live, start_ns, streams_count(sampler->plan.streams),
				 &sampler->failure);
	sampler->start_ns = start_ns;
	sampler->row_due_ns = sampler->plan.interval_ns;
	sampler->line_due_ns =
	    lines_wanted(sampler) ? sampler->plan.report_ns : UINT64_MAX - start_ns;
	sampler->limit_ns =
	    sampler->plan.limit_ns != 0 ? sampler->plan.limit_ns : UINT64_MAX - start_ns;
	sampler->windows = windows_open();
	streams_when_answered(sampler->plan.streams, answers_take, sampler);
	sampler_follow(sampler);
	windows_close(sampler->windows);
	return NULL;
}

struct sampler *sampler_start(const struct sampler_plan *plan, struct failure *failure)
{
	unsigned count = streams_count(plan->streams);
	struct sampler *sampler = calloc(1, sizeof(*sampler) + count * sizeof(sampler->follows[0]));
	if (sampler == NULL) {
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	sampler->plan = *plan;
	int status = pthread_mutex_init(&sampler->mutex, NULL);
	sampler->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (sampler->timer_fd < 0)
		status = errno;
	if (status == 0)
		status = pthread_create(&sampler->thread, NULL, sampler_run, sampler);
	if (status != 0) {
		(void)failure_set_errno(failure, status, "cannot start the sampler");
		sampler_destroy(sampler);
		return NULL;
	}
	sampler->running = true;
	return sampler;
}

void sampler_stop(struct sampler *sampler)
{
	if (sampler == NULL || !sampler->running)
		return;
	(void)pthread_mutex_lock(&sampler->mutex);
	sampler->stopping = true;
	timer_set(sampler, 1);
	(void)pthread_mutex_unlock(&sampler->mutex);
	(void)pthread_join(sampler->thread, NULL);
	sampler->running = false;
}

void sampler_destroy(struct sampler *sampler)
{
	if (sampler == NULL)
		return;
	sampler_stop(sampler);
	if (sampler->timer_fd >= 0)
		(void)close(sampler->timer_fd);
	(void)pthread_mutex_destroy(&sampler->mutex);
	free(sampler);
}

const struct sampler_view *sampler_look(const struct sampler *sampler, unsigned index)
{
	return &sampler->follows[index].view;
}

const char *sampler_error(const struct sampler *sampler)
{
	return sampler->failure.set ? sampler->failure.text : NULL;
}
