/*
 * What sampling costs, measured within one transfer: it is on and off in alternate windows of the
 * clock that both ends share. For tests/bench/bench_telemetry.py; only in builds with
 * -Dtelemetry_windows=true, in any other sampling is always on.
 */
#pragma once

#include "transfer/streams.h"

struct windows;

#ifdef LANDSPEED_TELEMETRY_WINDOWS
/* NULL: sampling is always on. */
struct windows *windows_open(void);
/* When to wake, given when the next row is due. CLOCK_MONOTONIC, both. */
uint64_t windows_due_ns(const struct windows *windows, uint64_t row_ns);
/* Is sampling on? */
bool windows_sampling(const struct windows *windows);
/* Is it? At the first call in a window notes what the streams have moved so far. */
bool windows_on(struct windows *windows, const struct streams *streams);
/* Writes the notes to the file that LANDSPEED_TELEMETRY_WINDOWS names. */
void windows_close(struct windows *windows);
#else
static inline struct windows *windows_open(void)
{
	return NULL;
}
static inline uint64_t windows_due_ns(const struct windows *windows, uint64_t row_ns)
{
	(void)windows;
	return row_ns;
}
static inline bool windows_sampling(const struct windows *windows)
{
	(void)windows;
	return true;
}
static inline bool windows_on(struct windows *windows, const struct streams *streams)
{
	(void)windows;
	(void)streams;
	return true;
}
static inline void windows_close(struct windows *windows)
{
	(void)windows;
}
#endif
