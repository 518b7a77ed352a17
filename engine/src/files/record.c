#include "files/record.h"

#include "base/wire.h"
#include "files/list.h"

static const uint8_t record_magic[4] = {'l', 's', 'f', 1};

#define GUARDED_BYTES 40

void record_encode(const struct record *record, uint8_t bytes[RECORD_BYTES])
{
	memcpy(bytes, record_magic, sizeof(record_magic));
	uint8_t *at = wire_put_u32(bytes + sizeof(record_magic), (uint32_t)record->kind);
	at = wire_put_u32(at, record->entry);
	at = wire_put_u32(at, record->length);
	at = wire_put_u64(at, record->offset);
	memcpy(at, record->checksum.bytes, CHECKSUM_BYTES);
	wire_put_u64(at + CHECKSUM_BYTES, checksum_short(bytes, GUARDED_BYTES, 0));
}

uint32_t record_payload(const struct record *record)
{
	return record->kind == RECORD_ZERO ? 0 : record->length;
}

static uint32_t length_limit(uint32_t kind)
{
	switch (kind) {
	case RECORD_LIST:
		return LIST_PAYLOAD_BYTES;
	case RECORD_BLOCK:
	case RECORD_ZERO:
		return FILE_BLOCK_BYTES;
	case RECORD_ABANDON:
		return RECORD_TEXT_BYTES;
	default:
		return 0;
	}
}

int record_decode(const uint8_t bytes[RECORD_BYTES], struct record *record, struct failure *failure)
{
	uint32_t kind;
	uint64_t guard;
	wire_get_u64(bytes + GUARDED_BYTES, &guard);
	if (memcmp(bytes, record_magic, sizeof(record_magic)) != 0 ||
	    guard != checksum_short(bytes, GUARDED_BYTES, 0))
		return failure_set(failure, "a block's header came damaged");
	const uint8_t *at = wire_get_u32(bytes + sizeof(record_magic), &kind);
	at = wire_get_u32(at, &record->entry);
	at = wire_get_u32(at, &record->length);
	at = wire_get_u64(at, &record->offset);
	memcpy(record->checksum.bytes, at, CHECKSUM_BYTES);
	if (kind < RECORD_LIST || kind > RECORD_ABANDON)
		return failure_set(failure, "a record of the unknown kind %u came", kind);
	if (record->length > length_limit(kind))
		return failure_set(failure, "a record of %u bytes came; the most is %u",
				   record->length, length_limit(kind));
	bool is_data = kind == RECORD_BLOCK || kind == RECORD_ZERO;
	if (is_data && (record->length == 0 || record->offset >= FILE_SIZE_LIMIT ||
			record->offset % FILE_BLOCK_BYTES != 0))
		return failure_set(failure, "a block came that begins or ends between two blocks");
	if (record->entry > FILES_LIMIT)
		return failure_set(failure, "a record names entry %u; the most is %u",
				   record->entry, FILES_LIMIT);
	record->kind = (enum record_kind)kind;
	return 0;
}
