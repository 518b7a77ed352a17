/*
 * What travels on a data connection of a file transfer: records of a header and, for some, a
 * payload. The codec does no I/O.
 */
#pragma once

#include "base/failure.h"
#include "files/checksum.h"

#include <stdbool.h>
#include <stdint.h>

#define RECORD_BYTES       48
#define LIST_PAYLOAD_BYTES (UINT32_C(64) << 10)
#define RECORD_TEXT_BYTES  256

enum record_kind {
	RECORD_LIST = 1, /* entries of the list; `entry` is the first one's number */
	RECORD_LIST_END, /* `entry` is their number, `offset` how many bytes all files have */
	RECORD_BLOCK,    /* `length` bytes of a file */
	RECORD_ZERO,     /* the same without a payload: all zero */
	RECORD_ABANDON,  /* the sender gives the file up; the payload says why */
};

struct record {
	enum record_kind kind;
	uint32_t entry;
	uint32_t length; /* of the payload; for RECORD_ZERO of what is zero */
	uint64_t offset;
	struct checksum checksum; /* of the payload */
};

void record_encode(const struct record *record, uint8_t bytes[RECORD_BYTES]);
/* -1 with the failure set when the header is damaged, or asks for what no sender may. */
int record_decode(const uint8_t bytes[RECORD_BYTES], struct record *record,
		  struct failure *failure);
/* Bytes that follow the header. */
uint32_t record_payload(const struct record *record);
