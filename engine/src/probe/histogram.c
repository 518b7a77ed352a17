#include "probe/histogram.h"

#include <math.h>
#include <stdlib.h>

#define VALUE_BITS 40
#define STEP_BITS  13
#define STEPS      (UINT64_C(1) << STEP_BITS)
#define BUCKETS    ((size_t)(VALUE_BITS - STEP_BITS + 1) << STEP_BITS)

struct histogram {
	uint64_t count;
	uint64_t least;
	uint64_t greatest;
	long double sum;
	long double squares;
	uint32_t buckets[BUCKETS];
};

/* Values below 2 x STEPS have a bucket each; then each doubling has STEPS of them. */
static size_t bucket_of(uint64_t value)
{
	unsigned bits = value != 0 ? 64 - (unsigned)__builtin_clzll(value) : 0;
	unsigned shift = bits > STEP_BITS + 1 ? bits - STEP_BITS - 1 : 0;
	return (size_t)(((uint64_t)shift << STEP_BITS) + (value >> shift));
}

/* The middle of a bucket. */
static uint64_t value_of(size_t bucket)
{
	if (bucket < 2 * STEPS)
		return bucket;
	unsigned shift = (unsigned)(bucket >> STEP_BITS) - 1;
	uint64_t low = (bucket - ((uint64_t)shift << STEP_BITS)) << shift;
	return low + (UINT64_C(1) << shift) / 2;
}

struct histogram *histogram_create(void)
{
	return calloc(1, sizeof(struct histogram));
}

void histogram_destroy(struct histogram *histogram)
{
	free(histogram);
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
	const uint64_t most = (UINT64_C(1) << VALUE_BITS) - 1;
	ns = ns < most ? ns : most;
	histogram->least = histogram->count == 0 || ns < histogram->least ? ns : histogram->least;
	histogram->greatest = ns > histogram->greatest ? ns : histogram->greatest;
	histogram->count++;
	histogram->sum += (long double)ns;
	histogram->squares += (long double)ns * (long double)ns;
	histogram->buckets[bucket_of(ns)]++;
}

void histogram_merge(struct histogram *histogram, const struct histogram *other)
{
	if (other->count == 0)
		return;
	if (histogram->count == 0 || other->least < histogram->least)
		histogram->least = other->least;
	if (other->greatest > histogram->greatest)
		histogram->greatest = other->greatest;
	histogram->count += other->count;
	histogram->sum += other->sum;
	histogram->squares += other->squares;
	for (size_t i = 0; i < BUCKETS; i++)
		histogram->buckets[i] += other->buckets[i];
}

uint64_t histogram_count(const struct histogram *histogram)
{
	return histogram->count;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
	uint64_t seen = 0;
	uint64_t wanted = (uint64_t)ceil(share * (double)histogram->count);
	wanted = wanted != 0 ? wanted : 1;
	for (size_t i = 0; i < BUCKETS && histogram->count != 0; i++) {
		seen += histogram->buckets[i];
		if (seen < wanted)
			continue;
		uint64_t value = value_of(i);
		value = value > histogram->least ? value : histogram->least;
		return value < histogram->greatest ? value : histogram->greatest;
	}
	return 0;
}

static void seconds_add(cJSON *object, const char *name, const struct histogram *histogram,
			long double ns)
{
	if (histogram->count == 0)
		json_add_text(object, name, NULL);
	else
		json_add_seconds(object, name, (uint64_t)(ns + 0.5L));
}

cJSON *histogram_json(const struct histogram *histogram)
{
	static const struct {
		const char *name;
		double share;
	} quantiles[] = {
	    {"p50_s", 0.5}, {"p90_s", 0.9}, {"p95_s", 0.95}, {"p99_s", 0.99}, {"p999_s", 0.999}};
	cJSON *object = cJSON_CreateObject();
	long double count = histogram->count != 0 ? (long double)histogram->count : 1;
	long double mean = histogram->sum / count;
	long double variance = histogram->squares / count - mean * mean;
	json_add_u64(object, "count", histogram->count);
	seconds_add(object, "mean_s", histogram, mean);
	seconds_add(object, "deviation_s", histogram, variance > 0 ? sqrtl(variance) : 0);
	seconds_add(object, "min_s", histogram, (long double)histogram->least);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		seconds_add(object, quantiles[i].name, histogram,
			    (long double)histogram_quantile(histogram, quantiles[i].share));
	seconds_add(object, "max_s", histogram, (long double)histogram->greatest);
	return object;
}
