/*
 * How times are spread: counts in steps of at most 1/8192 of the value, so that each percentile is
 * right within 0.01 % (half a step); least, greatest, mean and deviation are exact. Pure.
 */
#pragma once

#include "base/json.h"

struct histogram;

/* NULL when memory has run out. */
struct histogram *histogram_create(void);
void histogram_destroy(struct histogram *histogram);
/* What is above 2^40 ns (18 minutes) counts as that. */
void histogram_add(struct histogram *histogram, uint64_t ns);
void histogram_merge(struct histogram *histogram, const struct histogram *other);
uint64_t histogram_count(const struct histogram *histogram);
/* The time that `share` (0 to 1) of all are not above; 0 without any. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);
/* {"count", "mean_s", "deviation_s", "min_s", "p50_s", "p90_s", "p99_s", "p999_s", "max_s"}: null
 * where there are none. */
cJSON *histogram_json(const struct histogram *histogram);
