#include "payload/block_fill.h"

#include "payload/lanes.h"

#include <string.h>

/* XXH3_generateSecret_fromSeed(), since 0.8.1. */
#define XXH_STATIC_LINKING_ONLY
#ifdef LANDSPEED_XXH_DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

/* XXH3: stripes of 64 bytes; a round of sixteen, each under a key 8 bytes further in the secret. */
#define STRIPE_BYTES   64
#define SECRET_BYTES   192
#define KEY_STEP_BYTES 8
#define SCRAMBLE_KEY   (SECRET_BYTES - STRIPE_BYTES)
#define LAST_KEY       (SECRET_BYTES - STRIPE_BYTES - 7)
#define MERGE_KEY      11
#define ROUND_STRIPES  (SCRAMBLE_KEY / KEY_STEP_BYTES)
#define ROUND_BYTES    ((size_t)STRIPE_BYTES * ROUND_STRIPES)
#define PIECE_ROUNDS   (GENERATOR_PIECE_BYTES / ROUND_BYTES)
/* Shorter ones are summed in other ways, which the library knows. */
#define LONG_BYTES 241

#define PRIME32_1 UINT64_C(0x9e3779b1)
#define PRIME64_1 UINT64_C(0x9e3779b185ebca87)

struct block_fill {
	uint64_t sums[STRIPE_BYTES / sizeof(uint64_t)];
	uint8_t secret[SECRET_BYTES];
};

struct fill_method {
	const char *name;
	/* Makes whole rounds and sums them; makes one more, of which no sum is taken. */
	void (*fill)(uint64_t origin, uint64_t piece, uint8_t *bytes, size_t rounds,
		     uint8_t rest[ROUND_BYTES], struct block_fill *fill);
	/* Sum what is there, whole rounds or single stripes; return where they end. */
	const uint8_t *(*rounds)(const uint8_t *bytes, size_t rounds, struct block_fill *fill);
	const uint8_t *(*take)(const uint8_t *bytes, size_t stripes, const uint8_t *key,
			       struct block_fill *fill);
};

/* The library's sum of what the generator made. */
static const struct fill_method portable = {.name = "portable"};

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET             "avx2"
#define NAME(what)         avx2_##what
#define VECTOR_BYTES       32
#define VECTOR_I           __m256i
#define LOAD(at)           _mm256_loadu_si256((const __m256i *)(const void *)(at))
#define XOR(a, b)          _mm256_xor_si256(a, b)
#define XOR3               LANES_XOR3
#define ADD(a, b)          _mm256_add_epi64(a, b)
#define MULTIPLY(a, b)     _mm256_mul_epu32(a, b)
#define HIGH_HALVES(a)     _mm256_shuffle_epi32(a, 0x31)
#define NEIGHBOURS(a)      _mm256_shuffle_epi32(a, 0x4e)
#define SHIFT_LEFT(a, by)  _mm256_slli_epi64(a, by)
#define SHIFT_RIGHT(a, by) _mm256_srli_epi64(a, by)
#define PRIME              _mm256_set1_epi64x((long long)PRIME32_1)
#include "payload/block_fill_simd.inc"

#define TARGET       "avx512f,avx512dq"
#define NAME(what)   avx512_##what
#define VECTOR_BYTES 64
#define VECTOR_I     __m512i
#define LOAD(at)     _mm512_loadu_si512(at)
#define XOR(a, b)    _mm512_xor_si512(a, b)
#define XOR3(a, b, c)                                                                              \
	((vector)_mm512_ternarylogic_epi64((__m512i)(a), (__m512i)(b), (__m512i)(c), 0x96))
#define ADD(a, b)          _mm512_add_epi64(a, b)
#define MULTIPLY(a, b)     _mm512_mul_epu32(a, b)
#define HIGH_HALVES(a)     _mm512_shuffle_epi32(a, (_MM_PERM_ENUM)0x31)
#define NEIGHBOURS(a)      _mm512_shuffle_epi32(a, (_MM_PERM_ENUM)0x4e)
#define SHIFT_LEFT(a, by)  _mm512_slli_epi64(a, by)
#define SHIFT_RIGHT(a, by) _mm512_srli_epi64(a, by)
#define PRIME              _mm512_set1_epi64((long long)PRIME32_1)
#include "payload/block_fill_simd.inc"

static const struct fill_method avx2 = {"AVX2", avx2_fill, avx2_rounds, avx2_take};
static const struct fill_method avx512 = {"AVX-512", avx512_fill, avx512_rounds, avx512_take};
#endif

const struct fill_method *fill_method(unsigned index)
{
	const struct fill_method *ways[3] = {&portable};
	unsigned count = 1;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		ways[count++] = &avx2;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		ways[count++] = &avx512;
#endif
	return index < count ? ways[index] : NULL;
}

const struct fill_method *fill_method_best(void)
{
	unsigned best = 0;
	while (fill_method(best + 1) != NULL)
		best++;
	return fill_method(best);
}

const char *fill_method_name(const struct fill_method *way)
{
	return way->name;
}

static void fill_begin(struct block_fill *fill, uint64_t seed)
{
	static const uint64_t first[] = {
	    UINT64_C(0xc2b2ae3d),         PRIME64_1,
	    UINT64_C(0xc2b2ae3d27d4eb4f), UINT64_C(0x165667b19e3779f9),
	    UINT64_C(0x85ebca77c2b2ae63), UINT64_C(0x85ebca77),
	    UINT64_C(0x27d4eb2f165667c5), PRIME32_1,
	};
	memcpy(fill->sums, first, sizeof(first));
	XXH3_generateSecret_fromSeed(fill->secret, seed);
}

static uint64_t secret_word(const struct block_fill *fill, size_t at)
{
	uint64_t word;
	memcpy(&word, fill->secret + at, sizeof(word));
	return word;
}

__extension__ typedef unsigned __int128 wide;

/* The accumulators into one word. */
static uint64_t fill_end(const struct block_fill *fill, size_t count)
{
	uint64_t sum = count * PRIME64_1;
	for (unsigned i = 0; i < sizeof(fill->sums) / sizeof(fill->sums[0]); i += 2) {
		size_t key = MERGE_KEY + i * sizeof(uint64_t);
		wide product = (wide)(fill->sums[i] ^ secret_word(fill, key)) *
			       (fill->sums[i + 1] ^ secret_word(fill, key + sizeof(uint64_t)));
		sum += (uint64_t)product ^ (uint64_t)(product >> 64);
	}
	sum = (sum ^ sum >> 37) * UINT64_C(0x165667919e3779f9);
	return sum ^ sum >> 32;
}

/*
 * The last bytes, at least one: up to a round of them counts as no whole round, and the last stripe
 * is taken again, wherever it begins.
 */
static void rest_sum(const struct fill_method *way, const uint8_t *bytes, size_t count,
		     struct block_fill *fill)
{
	const uint8_t *end = bytes + count;
	size_t rounds = (count - 1) / ROUND_BYTES;
	bytes = way->rounds(bytes, rounds, fill);
	(void)way->take(bytes, (count - rounds * ROUND_BYTES - 1) / STRIPE_BYTES, fill->secret,
			fill);
	(void)way->take(end - STRIPE_BYTES, 1, fill->secret + LAST_KEY, fill);
}

uint64_t block_sum(const struct fill_method *way, const void *bytes, size_t count, uint64_t seed)
{
	struct block_fill fill;
	if (way == &portable || count < LONG_BYTES)
		return XXH3_64bits_withSeed(bytes, count, seed);
	fill_begin(&fill, seed);
	rest_sum(way, bytes, count, &fill);
	return fill_end(&fill, count);
}

uint64_t block_fill(const struct fill_method *way, const struct generator *generator,
		    uint64_t offset, void *bytes, size_t count, uint64_t seed)
{
	struct block_fill fill;
	uint8_t rest[ROUND_BYTES];
	uint8_t *to = bytes;
	if (way == &portable || count < LONG_BYTES) {
		generator_fill(generator, offset, bytes, count);
		return block_sum(way, bytes, count, seed);
	}
	/* Rounds that something follows. */
	size_t rounds = (count - 1) / ROUND_BYTES;
	size_t done = rounds * ROUND_BYTES;
	fill_begin(&fill, seed);
	way->fill(generator->origin, offset / GENERATOR_PIECE_BYTES, to, rounds, rest, &fill);
	memcpy(to + done, rest, count - done);
	rest_sum(way, to + done, count - done, &fill);
	return fill_end(&fill, count);
}
