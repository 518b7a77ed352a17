#include "files/incoming.h"
#include "files/source.h"
#include "files/stream.h"
#include "transfer/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sender {
	struct stream *stream;
	const struct files_sending *plan;
	struct file_source source;
	uint8_t *buffer; /* FILE_BLOCK_BYTES, aligned */
};

/* Header and payload, whole. 0 or an errno. */
static int record_send(struct sender *sender, const struct record *record)
{
	uint8_t header[RECORD_BYTES];
	uint32_t payload = record_payload(record);
	struct stream *stream = sender->stream;
	struct iovec parts[2] = {{.iov_base = header, .iov_len = sizeof(header)},
				 {.iov_base = sender->buffer, .iov_len = payload}};
	record_encode(record, header);
	if (stream->tunnel != NULL) {
		int error = stream_write(stream, header, sizeof(header));
		return error == 0 ? stream_write(stream, sender->buffer, payload) : error;
	}
	int error = stream_seal(stream, sizeof(header) + payload);
	return error == 0 ? stream_send_parts(stream, parts, payload != 0 ? 2 : 1, true) : error;
}

static int list_send(struct sender *sender, const struct work_item *item)
{
	size_t used = 0;
	for (uint32_t i = 0; i < item->count; i++) {
		const struct file_entry *entry = &sender->plan->set->files[item->entry + i].entry;
		file_entry_encode(entry, sender->buffer + used);
		used += file_entry_bytes(entry);
	}
	const struct record record = {.kind = RECORD_LIST,
				      .entry = item->entry,
				      .length = (uint32_t)used,
				      .checksum = checksum_of(sender->buffer, used)};
	return record_send(sender, &record);
}

static int list_end_send(struct sender *sender)
{
	const struct record record = {.kind = RECORD_LIST_END,
				      .entry = sender->plan->set->count,
				      .offset = sender->plan->set->bytes};
	return record_send(sender, &record);
}

static int abandon_send(struct sender *sender, uint32_t entry, const char *reason)
{
	size_t length = strnlen(reason, RECORD_TEXT_BYTES);
	if (!work_abandon(sender->plan->work, entry, reason))
		return 0;
	memcpy(sender->buffer, reason, length);
	const struct record record = {
	    .kind = RECORD_ABANDON, .entry = entry, .length = (uint32_t)length};
	return record_send(sender, &record);
}

static int block_send(struct sender *sender, const struct work_item *item)
{
	bool zero = false;
	struct failure failure = {0};
	const struct outgoing *outgoing = &sender->plan->set->files[item->entry];
	struct file_source *source = &sender->source;
	bool was_open = source->fd >= 0 && source->entry == item->entry;
	if (file_source_open(source, outgoing, item->entry, sender->plan->direct, &failure) != 0 ||
	    file_source_read(source, outgoing, item->block, sender->buffer, &zero, &failure) != 0) {
		file_source_close(source);
		return abandon_send(sender, item->entry, failure.text);
	}
	if (!was_open && source->direct && item->block == 0)
		work_read_direct(sender->plan->work);
	uint32_t bytes = file_block_bytes(outgoing->entry.size, item->block);
	struct record record = {.kind = zero ? RECORD_ZERO : RECORD_BLOCK,
				.entry = item->entry,
				.length = bytes,
				.offset = (uint64_t)item->block * FILE_BLOCK_BYTES};
	if (!zero)
		record.checksum = checksum_of(sender->buffer, bytes);
	int error = record_send(sender, &record);
	if (error == 0)
		work_sent(sender->plan->work, bytes, zero);
	return error;
}

static int item_send(struct sender *sender, const struct work_item *item)
{
	switch (item->kind) {
	case WORK_LIST:
		return list_send(sender, item);
	case WORK_LIST_END:
		return list_end_send(sender);
	case WORK_BLOCK:
	default:
		return block_send(sender, item);
	}
}

int files_stream_send(struct stream *stream, void *context)
{
	struct sender sender = {.stream = stream, .plan = context, .source = {.fd = -1}};
	struct work_item item;
	uint64_t start_ns;
	int error = 0;
	sender.buffer = aligned_alloc(DIRECT_ALIGNMENT, FILE_BLOCK_BYTES);
	if (sender.buffer == NULL)
		return ENOMEM;
	if (gate_wait(streams_gate(stream->set), &start_ns)) {
		while (error == 0 && work_next(sender.plan->work, stream->index, &item))
			error = item_send(&sender, &item);
	}
	file_source_close(&sender.source);
	free(sender.buffer);
	/* After streams_stop the end of the connection is what was wanted. */
	return stream_stopping(stream) ? 0 : error;
}
