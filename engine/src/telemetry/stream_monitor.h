/*
 * What is known of each stream during a transfer: readings of TCP_INFO, taken from its socket or
 * answered by its thread, and the rows and lines made of them. Times are nanoseconds since the
 * transfer's start. No thread, no lock, no timer: those are sampler.c.
 */
#pragma once

#include "telemetry/sampler.h"

struct stream_monitor;

/* NULL: out of memory. The plan's streams and files outlive it. */
struct stream_monitor *monitor_create(const struct sampler_plan *plan);
void monitor_destroy(struct stream_monitor *monitor);
/* The clock's time at which the transfer began. */
void monitor_start(struct stream_monitor *monitor, uint64_t start_ns);

/* Minimum gap between rows; a smaller one makes rates meaningless. */
uint64_t monitor_gap_ns(uint64_t step_ns);
/* Reads every stream, or takes its answer, and writes the rows. */
void monitor_sample(struct stream_monitor *monitor, uint64_t now);
/* Have all streams been asked, and answered, and need no rows to be written to disk? */
bool monitor_answered(const struct stream_monitor *monitor);
/* Makes rows of the answers, and asks for the next ones at that time. */
void monitor_answers_take(struct stream_monitor *monitor, uint64_t now, uint64_t next);
/* Are there lines of progress or of intervals? */
bool monitor_lines_wanted(const struct stream_monitor *monitor);
void monitor_line(struct stream_monitor *monitor, uint64_t now);
/* The last rows, and the last line. */
void monitor_last(struct stream_monitor *monitor, uint64_t now);

const struct sampler_view *monitor_look(const struct stream_monitor *monitor, unsigned index);
/* What writing rows or lines met, or NULL. */
const char *monitor_error(const struct stream_monitor *monitor);
