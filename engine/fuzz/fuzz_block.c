/*
 * Blocks from a stranger: verifying them, finding headers in anything, decoding, encoding back to
 * the same.
 */
#include "payload/verify.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct verifier *verifier = verifier_create(1, 1, BLOCK_BYTES, 1 << 20);
	if (verifier == NULL)
		return 0;
	/* A stream ends after what it takes; the faults are none of the fuzzer's business. */
	if (verifier_take(verifier, data, size) > size)
		abort();
	verifier_finish(verifier, true);
	verifier_destroy(verifier);
	struct block_header header;
	uint8_t again[BLOCK_HEADER_BYTES];
	size_t at = block_header_find(data, size);
	if (at > size)
		abort();
	if (size >= BLOCK_HEADER_BYTES && block_header_decode(data, &header) != (at == 0))
		abort();
	if (at == size)
		return 0;
	if (!block_header_decode(data + at, &header) || header.length == 0 ||
	    header.length > BLOCK_PAYLOAD_MAX)
		abort();
	block_header_encode(&header, again);
	if (memcmp(again, data + at, BLOCK_HEADER_BYTES) != 0)
		abort();
	size_t left = size - at - BLOCK_HEADER_BYTES;
	(void)block_checksum(&header, data + at + BLOCK_HEADER_BYTES,
			     header.length < left ? header.length : left);
	return 0;
}
