/*
 * One way of making.c with the vectors of one kind of processor. Included once for each kind, with
 * TARGET, NAME(), VECTOR_BYTES and the intrinsics: C has no other way to write it once.
 */
#define COUNT ((unsigned)(STRIPE_BYTES / VECTOR_BYTES))

/*
 * A stripe of 64 bytes into the accumulators: the product of the halves of each word under its
 * key, and the word itself into its neighbour. Of the words only a total is kept until SETTLE: it
 * goes to the neighbours once for many stripes.
 */
#define STRIPE_TAKE(v, words, key)                                                                 \
	do {                                                                                       \
		VECTOR_I under =                                                                   \
		    XOR((VECTOR_I)(words), LOAD((key) + (ptrdiff_t)(v)*VECTOR_BYTES));             \
		sums[v] = ADD(sums[v], MULTIPLY(under, HIGH_HALVES(under)));                       \
		totals[v] = ADD(totals[v], (VECTOR_I)(words));                                     \
	} while (0)

#define SETTLE(v)                                                                                  \
	do {                                                                                       \
		sums[v] = ADD(sums[v], NEIGHBOURS(totals[v]));                                     \
		totals[v] = XOR(totals[v], totals[v]);                                             \
	} while (0)

#define SCRAMBLE(v, key)                                                                           \
	do {                                                                                       \
		SETTLE(v);                                                                         \
		VECTOR_I mixed = XOR(XOR(sums[v], SHIFT_RIGHT(sums[v], 47)),                       \
				     LOAD((key) + (ptrdiff_t)(v)*VECTOR_BYTES));                   \
		VECTOR_I high = MULTIPLY(HIGH_HALVES(mixed), PRIME);                               \
		sums[v] = ADD(MULTIPLY(mixed, PRIME), SHIFT_LEFT(high, 32));                       \
	} while (0)

#define WORD_TAKE(v, word, bytes, key)                                                             \
	do {                                                                                       \
		memcpy((bytes) + (ptrdiff_t)(word)*STRIPE_BYTES, &words[word], sizeof(vector));    \
		STRIPE_TAKE(v, words[word], (key) + (ptrdiff_t)(word)*KEY_STEP_BYTES);             \
	} while (0)

/* A step of the generator: a stripe of each of its words. Written out, or GCC 12 keeps loops. */
#define STEP_TAKE(v, bytes, key)                                                                   \
	do {                                                                                       \
		LANES_STEP(v, words, XOR3);                                                        \
		WORD_TAKE(v, 0, bytes, key);                                                       \
		WORD_TAKE(v, 1, bytes, key);                                                       \
		WORD_TAKE(v, 2, bytes, key);                                                       \
		WORD_TAKE(v, 3, bytes, key);                                                       \
	} while (0)

__attribute__((target(TARGET))) static void NAME(fill)(uint64_t origin, uint64_t piece,
						       uint8_t *bytes, size_t rounds,
						       uint8_t rest[ROUND_BYTES],
						       struct making *making)
{
	typedef uint64_t vector __attribute__((vector_size(VECTOR_BYTES)));
	VECTOR_I sums[COUNT];
	VECTOR_I totals[COUNT] = {0};
	memcpy(sums, making->sums, sizeof(sums));
	for (size_t round = 0; round <= rounds; piece++) {
		uint64_t seeds[STATE_WORDS * LANES];
		vector s0[COUNT];
		vector s1[COUNT];
		vector s2[COUNT];
		vector s3[COUNT];
		vector words[STATE_WORDS];
		seeds_fill(origin, piece, seeds);
		memcpy(s0, seeds, sizeof(s0));
		memcpy(s1, seeds + LANES, sizeof(s1));
		memcpy(s2, seeds + (ptrdiff_t)2 * LANES, sizeof(s2));
		memcpy(s3, seeds + (ptrdiff_t)3 * LANES, sizeof(s3));
		for (size_t left = PIECE_ROUNDS; left > 0 && round <= rounds; left--, round++) {
			const uint8_t *key = making->secret;
			uint8_t *to = round < rounds ? bytes + round * ROUND_BYTES : rest;
			/* What is summed after that counts for nothing. */
			if (round == rounds)
				memcpy(making->sums, sums, sizeof(sums));
			for (unsigned step = 0; step < ROUND_BYTES / STEP_BYTES; step++) {
				STEP_TAKE(0, to, key);
#if VECTOR_BYTES < 64
				STEP_TAKE(1, to + VECTOR_BYTES, key);
#endif
				to += STEP_BYTES;
				key += (ptrdiff_t)STATE_WORDS * KEY_STEP_BYTES;
			}
			SCRAMBLE(0, making->secret + SCRAMBLE_KEY);
#if VECTOR_BYTES < 64
			SCRAMBLE(1, making->secret + SCRAMBLE_KEY);
#endif
		}
	}
}

__attribute__((target(TARGET))) static const uint8_t *
NAME(take)(const uint8_t *bytes, size_t stripes, const uint8_t *key, struct making *making)
{
	VECTOR_I sums[COUNT];
	VECTOR_I totals[COUNT] = {0};
	memcpy(sums, making->sums, sizeof(sums));
	for (size_t i = 0; i < stripes; i++) {
		VECTOR_I words = LOAD(bytes);
		STRIPE_TAKE(0, words, key);
#if VECTOR_BYTES < 64
		words = LOAD(bytes + VECTOR_BYTES);
		STRIPE_TAKE(1, words, key);
#endif
		bytes += STRIPE_BYTES;
		key += KEY_STEP_BYTES;
	}
	SETTLE(0);
#if VECTOR_BYTES < 64
	SETTLE(1);
#endif
	memcpy(making->sums, sums, sizeof(sums));
	return bytes;
}

__attribute__((target(TARGET))) static const uint8_t *
NAME(rounds)(const uint8_t *bytes, size_t rounds, struct making *making)
{
	VECTOR_I sums[COUNT];
	VECTOR_I totals[COUNT] = {0};
	memcpy(sums, making->sums, sizeof(sums));
	for (size_t round = 0; round < rounds; round++) {
		const uint8_t *key = making->secret;
		for (unsigned stripe = 0; stripe < ROUND_STRIPES; stripe++) {
			VECTOR_I words = LOAD(bytes);
			STRIPE_TAKE(0, words, key);
#if VECTOR_BYTES < 64
			words = LOAD(bytes + VECTOR_BYTES);
			STRIPE_TAKE(1, words, key);
#endif
			bytes += STRIPE_BYTES;
			key += KEY_STEP_BYTES;
		}
		SCRAMBLE(0, making->secret + SCRAMBLE_KEY);
#if VECTOR_BYTES < 64
		SCRAMBLE(1, making->secret + SCRAMBLE_KEY);
#endif
	}
	memcpy(making->sums, sums, sizeof(sums));
	return bytes;
}

#undef COUNT
#undef STRIPE_TAKE
#undef WORD_TAKE
#undef STEP_TAKE
#undef SETTLE
#undef SCRAMBLE
#undef TARGET
#undef NAME
#undef VECTOR_BYTES
#undef VECTOR_I
#undef LOAD
#undef XOR
#undef XOR3
#undef ADD
#undef MULTIPLY
#undef HIGH_HALVES
#undef NEIGHBOURS
#undef SHIFT_LEFT
#undef SHIFT_RIGHT
#undef PRIME
