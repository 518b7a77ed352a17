#include "sampler.h"

#include "clock.h"
#include "hello.h"
#include "windows.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

/* Rows of one stream are this part of the interval apart, or more. */
#define CROWDED 4

struct sampler {
	struct sampler_plan plan;
	struct failure failure;
	struct gate *stop; /* opened never, cancelled to stop */
	pthread_t thread;
	bool running;
	uint64_t row_ns; /* time of the last row */
	struct windows *windows;
	struct sampler_view views[];
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

static void stream_sample(struct sampler *sampler, unsigned index)
{
	struct sampler_view *view = &sampler->views[index];
	struct stream_view stream;
	struct tcp_info info;
	/* A connection that cannot be asked any more keeps its last figures. */
	if (!tcp_info_read(streams_fd(sampler->plan.streams, index), &info))
		return;
	streams_look(sampler->plan.streams, index, &stream);
	uint32_t min_rtt_us = tcp_info_min_rtt_us(&info);
	view->info = info;
	view->bytes = payload_count(sampler, &info, &stream);
	if (min_rtt_us != 0 && (view->min_rtt_us == 0 || min_rtt_us < view->min_rtt_us))
		view->min_rtt_us = min_rtt_us;
	if (info.raw.snd_wnd > view->max_snd_wnd)
		view->max_snd_wnd = info.raw.snd_wnd;
	if (info.raw.rtt > view->max_rtt_us)
		view->max_rtt_us = info.raw.rtt;
}

static void streams_sample(struct sampler *sampler)
{
	for (unsigned i = 0; i < streams_count(sampler->plan.streams); i++)
		stream_sample(sampler, i);
}

static void samples_write(struct sampler *sampler, struct samples *samples, uint64_t time_ns)
{
	if (samples == NULL)
		return;
	(void)samples_begin(samples, streams_count(sampler->plan.streams), &sampler->failure);
	for (unsigned i = 0; i < streams_count(sampler->plan.streams); i++) {
		struct sample sample = {.time_ns = time_ns,
					.stream = i,
					.bytes = sampler->views[i].bytes,
					.info = &sampler->views[i].info};
		/* The first failure is kept; the transfer itself goes on. */
		(void)samples_add(samples, &sample, &sampler->failure);
	}
}

static void rows_write(struct sampler *sampler, uint64_t time_ns)
{
	sampler->row_ns = time_ns;
	samples_write(sampler, sampler->plan.samples, time_ns);
	samples_write(sampler, sampler->plan.tcp_info, time_ns);
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
		const struct sampler_view *view = &sampler->views[i];
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

/* The last ones come when the transfer ends, wherever in the grid that is. */
static void last_rows_write(struct sampler *sampler, uint64_t now)
{
	streams_sample(sampler);
	/* Rows a moment apart would be a division by nearly nothing: the last one replaces the
	 * other. */
	if (sampler->row_ns != 0 && now - sampler->row_ns < sampler->plan.interval_ns / CROWDED)
		rows_withdraw(sampler);
	rows_write(sampler, now);
	line_write(sampler, now);
}

/* True when the limit was reached, false when told to stop. */
static bool sampler_follow(struct sampler *sampler, uint64_t start_ns)
{
	const struct sampler_plan *plan = &sampler->plan;
	uint64_t limit = plan->limit_ns != 0 ? plan->limit_ns : UINT64_MAX - start_ns;
	uint64_t row = plan->interval_ns;
	uint64_t line = lines_wanted(sampler) ? plan->report_ns : UINT64_MAX;
	for (;;) {
		uint64_t due = least(least(row, line), limit);
		if (!gate_sleep_until(sampler->stop,
				      windows_due_ns(sampler->windows, start_ns + due)))
			return false;
		uint64_t now = clock_monotonic_ns() - start_ns;
		if (now >= limit) {
			last_rows_write(sampler, now);
			return true;
		}
		if (!windows_on(sampler->windows, plan->streams) || (now < row && now < line))
			continue;
		streams_sample(sampler);
		if (now >= row) {
			rows_write(sampler, now);
			row = grid_next(now, plan->interval_ns);
		}
		if (now >= line) {
			line_write(sampler, now);
			line = lines_wanted(sampler) ? grid_next(now, plan->report_ns) : UINT64_MAX;
		}
	}
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
	sampler->windows = windows_open();
	if (!sampler_follow(sampler, start_ns))
		last_rows_write(sampler, clock_monotonic_ns() - start_ns);
	windows_close(sampler->windows);
	return NULL;
}

struct sampler *sampler_start(const struct sampler_plan *plan, struct failure *failure)
{
	unsigned count = streams_count(plan->streams);
	struct sampler *sampler = calloc(1, sizeof(*sampler) + count * sizeof(sampler->views[0]));
	if (sampler == NULL) {
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	sampler->plan = *plan;
	sampler->stop = gate_create();
	int status = 0;
	if (sampler->stop == NULL)
		(void)failure_set(failure, "out of memory");
	else if ((status = pthread_create(&sampler->thread, NULL, sampler_run, sampler)) != 0)
		(void)failure_set_errno(failure, status, "cannot start the sampler");
	else
		sampler->running = true;
	if (!sampler->running) {
		sampler_destroy(sampler);
		return NULL;
	}
	return sampler;
}

void sampler_stop(struct sampler *sampler)
{
	if (sampler == NULL || !sampler->running)
		return;
	gate_cancel(sampler->stop);
	(void)pthread_join(sampler->thread, NULL);
	sampler->running = false;
}

void sampler_destroy(struct sampler *sampler)
{
	if (sampler == NULL)
		return;
	sampler_stop(sampler);
	gate_destroy(sampler->stop);
	free(sampler);
}

const struct sampler_view *sampler_look(const struct sampler *sampler, unsigned index)
{
	return &sampler->views[index];
}

const char *sampler_error(const struct sampler *sampler)
{
	return sampler->failure.set ? sampler->failure.text : NULL;
}
