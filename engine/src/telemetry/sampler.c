#include "telemetry/sampler.h"

#include "base/clock.h"
#include "base/number.h"
#include "telemetry/stream_monitor.h"
#include "telemetry/windows.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct sampler {
	struct sampler_plan plan;
	int timer_fd;
	pthread_t thread;
	bool running;
	pthread_mutex_t mutex; /* of what follows */
	bool stopping;
	uint64_t start_ns;
	uint64_t row_due_ns;
	uint64_t line_due_ns;
	uint64_t limit_ns;
	uint64_t armed_ns; /* when the timer fires next: by itself from row to row */
	struct stream_monitor *monitor;
	struct windows *windows;
};

/*
 * The next point of a grid, a quarter of a step after `now` or later: a sampler that came late
 * skips rows, never crowds them.
 */
static uint64_t grid_next(uint64_t now_ns, uint64_t step_ns)
{
	return ((now_ns + monitor_gap_ns(step_ns)) / step_ns + 1) * step_ns;
}

static void timer_set(struct sampler *sampler, uint64_t at_ns)
{
	const struct itimerspec at = {.it_value = clock_timespec(at_ns),
				      .it_interval = clock_timespec(sampler->plan.interval_ns)};
	/* Cannot fail: it is a timer, and the times are such. */
	(void)timerfd_settime(sampler->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
	sampler->armed_ns = at_ns;
}

static uint64_t timer_due_ns(const struct sampler *sampler)
{
	uint64_t due = number_least(number_least(sampler->row_due_ns, sampler->line_due_ns),
				    sampler->limit_ns);
	return windows_due_ns(sampler->windows, sampler->start_ns + due);
}

/* How often it fired. */
static uint64_t timer_wait(const struct sampler *sampler)
{
	uint64_t expirations;
	/* Set again meanwhile or interrupted: who waits looks at the clock anyway. */
	return read(sampler->timer_fd, &expirations, sizeof(expirations)) < 0 ? 0 : expirations;
}

/*
 * In the thread of the stream that answered last: as long as all answer before the next row is due,
 * the sampler, which writes files, need not wake. A wake-up costs more than all of their answers.
 */
static void answers_take(void *context)
{
	struct sampler *sampler = context;
	/* The sampler is at it, and may be writing: no stream waits for that. */
	if (pthread_mutex_trylock(&sampler->mutex) != 0)
		return;
	uint64_t now = clock_monotonic_ns() - sampler->start_ns;
	if (!sampler->stopping && now < sampler->row_due_ns &&
	    sampler->row_due_ns < sampler->limit_ns && windows_sampling(sampler->windows) &&
	    monitor_answered(sampler->monitor)) {
		monitor_answers_take(sampler->monitor, now, sampler->row_due_ns);
		sampler->row_due_ns += sampler->plan.interval_ns;
		timer_set(sampler, timer_due_ns(sampler));
	}
	(void)pthread_mutex_unlock(&sampler->mutex);
}

/* With the mutex: what is due at that time. False when it was the last. */
static bool sampler_act(struct sampler *sampler, uint64_t now)
{
	const struct sampler_plan *plan = &sampler->plan;
	if (now >= sampler->limit_ns || sampler->stopping) {
		monitor_last(sampler->monitor, now);
		return false;
	}
	if (!windows_on(sampler->windows, plan->streams))
		return true;
	if (now >= sampler->row_due_ns) {
		monitor_sample(sampler->monitor, now);
		sampler->row_due_ns = grid_next(now, plan->interval_ns);
	}
	if (now >= sampler->line_due_ns) {
		monitor_line(sampler->monitor, now);
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
			uint64_t due_ns = timer_due_ns(sampler);
			if (due_ns != sampler->armed_ns)
				timer_set(sampler, due_ns);
			(void)pthread_mutex_unlock(&sampler->mutex);
			uint64_t fired = timer_wait(sampler);
			(void)pthread_mutex_lock(&sampler->mutex);
			/* If it was set meanwhile: too late a time, and it is set again. */
			sampler->armed_ns += fired * sampler->plan.interval_ns;
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
	monitor_start(sampler->monitor, start_ns);
	sampler->start_ns = start_ns;
	sampler->row_due_ns = sampler->plan.interval_ns;
	sampler->line_due_ns = monitor_lines_wanted(sampler->monitor) ? sampler->plan.report_ns
								      : UINT64_MAX - start_ns;
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
	struct sampler *sampler = calloc(1, sizeof(*sampler));
	struct stream_monitor *monitor = monitor_create(plan);
	if (sampler == NULL || monitor == NULL) {
		(void)failure_set(failure, "out of memory");
		monitor_destroy(monitor);
		free(sampler);
		return NULL;
	}
	sampler->plan = *plan;
	sampler->monitor = monitor;
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
	monitor_destroy(sampler->monitor);
	free(sampler);
}

const struct sampler_view *sampler_look(const struct sampler *sampler, unsigned index)
{
	return monitor_look(sampler->monitor, index);
}

const char *sampler_error(const struct sampler *sampler)
{
	return monitor_error(sampler->monitor);
}
