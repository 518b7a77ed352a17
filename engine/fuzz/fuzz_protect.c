/*
 * What whoever carries a stream can do to its records. The first byte chooses the mode; the rest
 * arrives as records. Sealed here once more, record by record, is what alone may open.
 */
#include "protect/protect.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t secret[PROTECT_SECRET_BYTES] = "0123456789abcdefghijklmnopqrstu";

/* What opened must be what its sender would have made of the bytes, to the last bit of the tag. */
static void opened_check(struct protector *seals, const uint8_t *record, const uint8_t *bytes,
			 uint32_t count)
{
	static uint8_t room[PROTECT_PAYLOAD_BYTES];
	uint8_t head[PROTECT_HEAD_BYTES];
	uint8_t tag[PROTECT_TAG_BYTES];
	const uint8_t *sealed;
	if (!protector_seal(seals, count == 0 ? PROTECT_END : PROTECT_DATA, bytes, count, room,
			    head, &sealed, tag) ||
	    memcmp(record, head, sizeof(head)) != 0 ||
	    (count != 0 && memcmp(record + PROTECT_HEAD_BYTES, sealed, count) != 0) ||
	    memcmp(record + PROTECT_HEAD_BYTES + count, tag, sizeof(tag)) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[PROTECT_PAYLOAD_BYTES];
	uint32_t count;
	if (size < 1)
		return 0;
	enum protect_mode mode = (data[0] & 1) == 0 ? PROTECT_AEAD : PROTECT_MAC;
	struct protector *opens = protector_create(mode, false, secret, 3);
	struct protector *seals = protector_create(mode, true, secret, 3);
	if (opens == NULL || seals == NULL)
		abort();
	for (size_t at = 1; size - at >= PROTECT_HEAD_BYTES + PROTECT_TAG_BYTES;
	     at += PROTECT_HEAD_BYTES + count + PROTECT_TAG_BYTES) {
		if (!protector_head(opens, data + at, &count) ||
		    count > size - at - PROTECT_HEAD_BYTES - PROTECT_TAG_BYTES ||
		    !protector_open(opens, data + at, bytes))
			break;
		opened_check(seals, data + at, bytes, count);
	}
	protector_destroy(opens);
	protector_destroy(seals);
	return 0;
}
