/* Linters read it without the build that has it. */
#ifndef LANDSPEED_TELEMETRY_WINDOWS
#define LANDSPEED_TELEMETRY_WINDOWS
#endif
#include "telemetry/windows.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WINDOW_NS (100 * NS_PER_MS)
/* An hour. */
#define NOTES_MAX 36000

struct note {
	uint64_t window;
	uint64_t time_ns;
	uint64_t bytes;
	uint64_t streams_ns; /* processor time of the streams' threads */
	uint64_t sampler_ns; /* and of the sampler's */
};

struct windows {
	FILE *file;
	unsigned count;
	struct note notes[NOTES_MAX];
};

struct windows *windows_open(void)
{
	const char *path = getenv("LANDSPEED_TELEMETRY_WINDOWS");
	struct windows *windows = path != NULL ? calloc(1, sizeof(*windows)) : NULL;
	if (windows == NULL)
		return NULL;
	windows->file = fopen(path, "we");
	if (windows->file != NULL)
		return windows;
	free(windows);
	return NULL;
}

/* off, on, on, off and again: what drifts evenly falls on both alike. */
static bool window_samples(uint64_t window)
{
	return ((window ^ window >> 1) & 1) != 0;
}

bool windows_sampling(const struct windows *windows)
{
	return windows == NULL || window_samples(clock_monotonic_ns() / WINDOW_NS);
}

uint64_t windows_due_ns(const struct windows *windows, uint64_t row_ns)
{
	if (windows == NULL)
		return row_ns;
	uint64_t window = clock_monotonic_ns() / WINDOW_NS;
	uint64_t end_ns = (window + 1) * WINDOW_NS;
	return window_samples(window) && row_ns < end_ns ? row_ns : end_ns;
}

static void note_take(struct note *note, uint64_t window, const struct streams *streams)
{
	note->window = window;
	for (unsigned i = 0; i < streams_count(streams); i++) {
		struct stream_view view;
		streams_look(streams, i, &view);
		note->bytes += view.bytes;
		note->streams_ns += streams_cpu_ns(streams, i);
	}
	note->sampler_ns = clock_thread_cpu_ns();
	note->time_ns = clock_monotonic_ns();
}

bool windows_on(struct windows *windows, const struct streams *streams)
{
	if (windows == NULL)
		return true;
	uint64_t window = clock_monotonic_ns() / WINDOW_NS;
	unsigned count = windows->count;
	if (count < NOTES_MAX && (count == 0 || windows->notes[count - 1].window != window))
		note_take(&windows->notes[windows->count++], window, streams);
	return window_samples(window);
}

void windows_close(struct windows *windows)
{
	if (windows == NULL)
		return;
	(void)fprintf(windows->file, "window,on,time_ns,bytes,streams_ns,sampler_ns\n");
	for (unsigned i = 0; i < windows->count; i++) {
		const struct note *note = &windows->notes[i];
		(void)fprintf(windows->file,
			      "%" PRIu64 ",%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
			      note->window, window_samples(note->window), note->time_ns,
			      note->bytes, note->streams_ns, note->sampler_ns);
	}
	(void)fclose(windows->file);
	free(windows);
}
