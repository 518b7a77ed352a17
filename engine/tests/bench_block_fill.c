/*
 * What a verified block costs before it is sent, in processor seconds per GB, as JSON lines: made
 * and then summed by the library ("portable"; the generator with this processor's best vectors), or
 * in one pass with each kind of vectors that there is here. The last line is that of a copy.
 */
#include "base/clock.h"
#include "payload/block_fill.h"
#include "payload/blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 1000
#define TURNS  15

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;
	return (left > right) - (left < right);
}

#define PAYLOAD_BYTES (BLOCK_BYTES - BLOCK_HEADER_BYTES)

/* The median over the turns; without a way the payload is copied from `other`. */
static double cost(const struct fill_method *way, uint8_t *payload, const uint8_t *other)
{
	double turns[TURNS];
	struct generator generator = generator_create(1, 2);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		uint64_t sum = 0;
		uint64_t begun_ns = clock_thread_cpu_ns();
		for (uint64_t i = 0; i < BLOCKS; i++) {
			if (way != NULL)
				sum += block_fill(way, &generator, block_origin(i), payload,
						  PAYLOAD_BYTES, i);
			else
				memcpy(payload, other, PAYLOAD_BYTES);
			/* Nobody may find that the copy before this one is not needed. */
			__asm__ volatile("" : : "r"(payload) : "memory");
		}
		uint64_t took_ns = clock_thread_cpu_ns() - begun_ns;
		/* Nobody may find that the sums are not needed. */
		*(volatile uint64_t *)payload = sum;
		turns[turn] = (double)took_ns / BLOCKS / PAYLOAD_BYTES;
	}
	qsort(turns, TURNS, sizeof(turns[0]), compare);
	return turns[TURNS / 2];
}

int main(void)
{
	uint8_t *block = aligned_alloc(4096, 2 * BLOCK_BYTES);
	if (block == NULL)
		return 1;
	uint8_t *payload = block + BLOCK_HEADER_BYTES;
	memset(block, 1, 2 * BLOCK_BYTES);
	for (unsigned i = 0; fill_method(i) != NULL; i++)
		(void)printf("{\"way\": \"%s\", \"seconds_per_gb\": %.4f}\n",
			     fill_method_name(fill_method(i)), cost(fill_method(i), payload, NULL));
	(void)printf("{\"way\": \"copy\", \"seconds_per_gb\": %.4f}\n",
		     cost(NULL, payload, payload + BLOCK_BYTES));
	free(block);
	return 0;
}
