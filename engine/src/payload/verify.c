#include "payload/verify.h"

#include <stdlib.h>

/* Ranges of blocks that were jumped over and may still come; beyond that they count as lost. */
#define GAPS_MAX 256

struct gap {
	uint64_t from;
	uint64_t to; /* first one after it */
};

struct verifier {
	struct generator generator;
	uint32_t stream;
	uint32_t full; /* bytes of a full block */
	uint64_t due;  /* sequence number after the highest seen */
	uint64_t total;
	bool lost; /* looking for the next block; the fault is counted */
	unsigned gap_count;
	struct gap gaps[GAPS_MAX];
	struct verify_report report;
};

static const char *const kind_names[VERIFY_KINDS] = {
    [VERIFY_DAMAGED] = "damaged",       [VERIFY_CUT] = "cut",
    [VERIFY_UNREADABLE] = "unreadable", [VERIFY_FOREIGN] = "foreign",
    [VERIFY_REPEATED] = "repeated",     [VERIFY_MISPLACED] = "misplaced",
    [VERIFY_MISSING] = "missing",
};

const char *verify_kind_name(enum verify_kind kind)
{
	return kind_names[kind];
}

struct verifier *verifier_create(uint64_t seed, uint32_t stream, uint32_t full, uint64_t bytes)
{
	struct verifier *verifier = calloc(1, sizeof(*verifier));
	if (verifier == NULL)
		return NULL;
	verifier->generator = generator_create(seed, stream);
	verifier->stream = stream;
	verifier->full = full;
	verifier->total = block_count(bytes, full);
	return verifier;
}

void verifier_destroy(struct verifier *verifier)
{
	free(verifier);
}

const struct verify_report *verifier_report(const struct verifier *verifier)
{
	return &verifier->report;
}

uint64_t verify_fault_count(const struct verify_report *report)
{
	uint64_t faults = 0;
	for (unsigned kind = 0; kind < VERIFY_KINDS; kind++)
		faults += report->counts[kind];
	return faults;
}

static void faults_note(struct verifier *verifier, enum verify_kind kind, uint64_t count,
			uint64_t block, uint64_t offset)
{
	struct verify_report *report = &verifier->report;
	report->counts[kind] += count;
	if (report->kept < VERIFY_FAULTS_KEPT)
		report->faults[report->kept++] = (struct verify_fault){
		    .kind = kind, .stream = verifier->stream, .block = block, .offset = offset};
}

static void missing_note(struct verifier *verifier, const struct gap *gap)
{
	faults_note(verifier, VERIFY_MISSING, gap->to - gap->from, gap->from,
		    block_offset(gap->from, verifier->full));
}

static void gap_open(struct verifier *verifier, uint64_t from, uint64_t to)
{
	const struct gap gap = {.from = from, .to = to};
	if (verifier->gap_count == GAPS_MAX)
		missing_note(verifier, &gap);
	else
		verifier->gaps[verifier->gap_count++] = gap;
}

/* True when the block was jumped over before. */
static bool gap_fill(struct verifier *verifier, uint64_t sequence)
{
	for (unsigned i = 0; i < verifier->gap_count; i++) {
		struct gap *gap = &verifier->gaps[i];
		if (sequence < gap->from || sequence >= gap->to)
			continue;
		const struct gap rest = {.from = sequence + 1, .to = gap->to};
		gap->to = sequence;
		if (gap->from == gap->to)
			*gap = verifier->gaps[--verifier->gap_count];
		if (rest.from < rest.to)
			gap_open(verifier, rest.from, rest.to);
		return true;
	}
	return false;
}

static void place_check(struct verifier *verifier, const struct block_header *header)
{
	if (header->sequence >= verifier->due) {
		if (header->sequence > verifier->due)
			gap_open(verifier, verifier->due, header->sequence);
		verifier->due = header->sequence + 1;
		return;
	}
	faults_note(verifier,
		    gap_fill(verifier, header->sequence) ? VERIFY_MISPLACED : VERIFY_REPEATED, 1,
		    header->sequence, header->offset);
}

/* Of the first byte that differs from what the generator makes; `count` when none does. */
static uint32_t payload_compare(const struct verifier *verifier, const struct block_header *header,
				const uint8_t *payload)
{
	uint8_t right[GENERATOR_PIECE_BYTES];
	for (uint32_t at = 0; at < header->length; at += sizeof(right)) {
		uint32_t left = header->length - at;
		uint32_t count = left < sizeof(right) ? left : (uint32_t)sizeof(right);
		generator_fill(&verifier->generator, block_origin(header->sequence) + at, right,
			       count);
		for (uint32_t i = 0; i < count; i++) {
			if (payload[at + i] != right[i])
				return at + i;
		}
	}
	return header->length;
}

/* A block whose header is whole and whose payload is not. Returns the bytes done with. */
static size_t damage_locate(struct verifier *verifier, const struct block_header *header,
			    const uint8_t *bytes)
{
	const uint8_t *payload = bytes + BLOCK_HEADER_BYTES;
	uint32_t wrong = payload_compare(verifier, header, payload);
	size_t next = block_header_find(payload, header->length);
	bool cut = next < header->length;
	faults_note(verifier, cut ? VERIFY_CUT : VERIFY_DAMAGED, 1, header->sequence,
		    header->offset + wrong);
	return BLOCK_HEADER_BYTES + (cut ? next : header->length);
}

/* A sequence number that no stream reaches must not make numbers overflow. */
static bool header_belongs(const struct verifier *verifier, const struct block_header *header)
{
	return header->stream == verifier->stream && header->object == 0 &&
	       header->sequence < verifier->total && header->sequence < UINT64_MAX / BLOCK_BYTES &&
	       header->offset == block_offset(header->sequence, verifier->full) &&
	       header->length <= verifier->full - BLOCK_HEADER_BYTES;
}

/* Bytes done with; 0: more are needed. */
static size_t block_take(struct verifier *verifier, const struct block_header *header,
			 const uint8_t *bytes, size_t count)
{
	size_t size = BLOCK_HEADER_BYTES + (size_t)header->length;
	verifier->lost = false;
	if (!header_belongs(verifier, header)) {
		/* Whatever its length says: the next one is found by its header. */
		faults_note(verifier, VERIFY_FOREIGN, 1, verifier->due,
			    block_offset(verifier->due, verifier->full));
		verifier->lost = true;
		return BLOCK_HEADER_BYTES;
	}
	if (count < size)
		return 0;
	if (block_checksum(header, bytes + BLOCK_HEADER_BYTES, header->length) ==
	    header->checksum) {
		verifier->report.blocks++;
		verifier->report.payload_bytes += header->length;
	} else {
		size = damage_locate(verifier, header, bytes);
	}
	place_check(verifier, header);
	return size;
}

/* No block begins here: on to where one does. */
static size_t bytes_skip(struct verifier *verifier, const uint8_t *bytes, size_t count)
{
	size_t next = block_header_find(bytes, count);
	if (!verifier->lost)
		faults_note(verifier, VERIFY_UNREADABLE, 1, verifier->due,
			    block_offset(verifier->due, verifier->full));
	verifier->lost = true;
	return next < count ? next : count - (BLOCK_HEADER_BYTES - 1);
}

size_t verifier_take(struct verifier *verifier, const uint8_t *bytes, size_t count)
{
	size_t done = 0;
	while (count - done >= BLOCK_HEADER_BYTES) {
		struct block_header header;
		size_t step = block_header_decode(bytes + done, &header)
				  ? block_take(verifier, &header, bytes + done, count - done)
				  : bytes_skip(verifier, bytes + done, count - done);
		if (step == 0)
			break;
		done += step;
	}
	return done;
}

void verifier_finish(struct verifier *verifier, bool whole)
{
	if (whole && verifier->due < verifier->total && verifier->total != UINT64_MAX)
		gap_open(verifier, verifier->due, verifier->total);
	for (unsigned i = 0; i < verifier->gap_count; i++)
		missing_note(verifier, &verifier->gaps[i]);
	verifier->gap_count = 0;
}
