/*
 * What is known of each stream during a transfer: readings of TCP_INFO, taken from its socket or
 * answered by its thread, and the rows and lines made of them. Times are nanoseconds since the
 * transfer's start. No thread, no lock, no timer: those are sampler.c.
 */
#ifndef LANDSPEED_TELEMETRY_FOLLOWS_H
#define LANDSPEED_TELEMETRY_FOLLOWS_H

#include "telemetry/sampler.h"

struct follows;

/* NULL: out of memory. The plan's streams and files outlive it. */
struct follows *follows_create(const struct sampler_plan *plan);
void follows_destroy(struct follows *follows);
/* The clock's time at which the transfer began. */
void follows_start(struct follows *follows, uint64_t start_ns);

/* Rows a moment apart would be a division by nearly nothing: how far apart they must be. */
uint64_t follows_crowd_ns(uint64_t step_ns);
/* Reads every stream, or takes its answer, and writes the rows. */
void follows_sample(struct follows *follows, uint64_t now);
/* Have all streams been asked, and answered, and need no rows to be written to disk? */
bool follows_answered(const struct follows *follows);
/* Makes rows of the answers, and asks for the next ones at that time. */
void follows_answers_take(struct follows *follows, uint64_t now, uint64_t next);
/* Are there lines of progress or of intervals? */
bool follows_lines_wanted(const struct follows *follows);
void follows_line(struct follows *follows, uint64_t now);
/* The last rows, and the last line. */
void follows_last(struct follows *follows, uint64_t now);

const struct sampler_view *follows_look(const struct follows *follows, unsigned index);
/* What writing rows or lines met, or NULL. */
const char *follows_error(const struct follows *follows);

#endif
