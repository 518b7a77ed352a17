#include "files/checksum.h"

#include <pthread.h>
#include <string.h>
#include <xxhash.h>

static const uint8_t zeros[FILE_BLOCK_BYTES];
static struct checksum of_zero_block;
static pthread_once_t zero_once = PTHREAD_ONCE_INIT;

struct checksum checksum_of(const void *bytes, size_t count)
{
	XXH128_canonical_t canonical;
	struct checksum checksum;
	XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, count));
	_Static_assert(sizeof(canonical.digest) == CHECKSUM_BYTES, "128 bits");
	memcpy(checksum.bytes, canonical.digest, CHECKSUM_BYTES);
	return checksum;
}

static void zero_block_compute(void)
{
	of_zero_block = checksum_of(zeros, sizeof(zeros));
}

struct checksum checksum_of_zeros(size_t count)
{
	if (count != sizeof(zeros))
		return checksum_of(zeros, count);
	(void)pthread_once(&zero_once, zero_block_compute);
	return of_zero_block;
}

bool checksum_equal(const struct checksum *a, const struct checksum *b)
{
	return memcmp(a->bytes, b->bytes, CHECKSUM_BYTES) == 0;
}

uint64_t checksum_short(const void *bytes, size_t count, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, count, seed);
}
