/*
 * Checks a stream of verified payload (blocks.h) as it arrives: counts each fault and says where
 * it is. After damage it goes on with the next block that it finds. No I/O.
 */
#pragma once

#include "payload/blocks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each fault is counted; the first ones of a stream are kept with their places. */
#define VERIFY_FAULTS_KEPT 16

enum verify_kind {
	VERIFY_DAMAGED,    /* payload that is not what was sent */
	VERIFY_CUT,        /* a block that ends early: another begins inside it */
	VERIFY_UNREADABLE, /* bytes where a block should begin, and none does */
	VERIFY_FOREIGN,    /* a whole block that belongs elsewhere */
	VERIFY_REPEATED,   /* a block that has been there before */
	VERIFY_MISPLACED,  /* a block that came after a later one */
	VERIFY_MISSING,    /* a block that never came */
	VERIFY_KINDS
};

struct verify_fault {
	enum verify_kind kind;
	uint32_t stream;
	uint64_t block;  /* its sequence number; the one that was due for bytes that are no block */
	uint64_t offset; /* in the stream's payload: first wrong byte, or the block's first */
};

struct verify_report {
	uint64_t blocks;        /* whole and right */
	uint64_t payload_bytes; /* in them */
	uint64_t counts[VERIFY_KINDS];
	unsigned kept;
	struct verify_fault faults[VERIFY_FAULTS_KEPT];
};

struct verifier;

/*
 * `full`: bytes of a full block; `bytes`: what the stream will carry, headers included, UINT64_MAX:
 * unknown. NULL: no memory.
 */
struct verifier *verifier_create(uint64_t seed, uint32_t stream, uint32_t full, uint64_t bytes);
void verifier_destroy(struct verifier *verifier);

/*
 * Looks at bytes of the stream; returns how many are done with. The rest is to be presented again
 * with what follows it; BLOCK_BYTES at once always make progress.
 */
size_t verifier_take(struct verifier *verifier, const uint8_t *bytes, size_t count);

/* After the last byte: `whole` when the stream was to end there, so that all blocks are due. */
void verifier_finish(struct verifier *verifier, bool whole);

const struct verify_report *verifier_report(const struct verifier *verifier);
uint64_t verify_fault_count(const struct verify_report *report);
const char *verify_kind_name(enum verify_kind kind);
