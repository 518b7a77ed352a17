#include "payload/blocks.h"

#include "payload/block_fill.h"

#include <string.h>

uint32_t block_bytes_choose(uint32_t packet)
{
	return packet == 0 || packet > BLOCK_BYTES ? BLOCK_BYTES : BLOCK_BYTES / packet * packet;
}

uint32_t block_size(uint64_t left, uint32_t full)
{
	if (left <= full)
		return (uint32_t)left;
	if (left - full >= BLOCK_MIN_BYTES)
		return full;
	/* The last but one gives up what the last one needs, in whole words. */
	return full - 2 * BLOCK_HEADER_BYTES;
}

uint64_t block_count(uint64_t bytes, uint32_t full)
{
	if (bytes == UINT64_MAX)
		return UINT64_MAX;
	return bytes / full + (bytes % full != 0 ? 1 : 0);
}

uint64_t block_offset(uint64_t sequence, uint32_t full)
{
	return sequence * (full - BLOCK_HEADER_BYTES);
}

uint64_t block_origin(uint64_t sequence)
{
	return sequence * BLOCK_BYTES;
}

struct block_writer block_writer_create(uint64_t seed, uint32_t stream, uint32_t full)
{
	return (struct block_writer){
	    .generator = generator_create(seed, stream), .stream = stream, .full = full};
}

uint32_t block_write(struct block_writer *writer, uint64_t left, uint8_t bytes[BLOCK_BYTES])
{
	uint32_t size = block_size(left, writer->full);
	struct block_header header = {
	    .stream = writer->stream,
	    .length = size - BLOCK_HEADER_BYTES,
	    .sequence = writer->sequence,
	    .offset = block_offset(writer->sequence, writer->full),
	};
	header.checksum =
	    block_fill(fill_method_best(), &writer->generator, block_origin(header.sequence),
		       bytes + BLOCK_HEADER_BYTES, header.length, block_seed(&header));
	block_header_encode(&header, bytes);
	writer->sequence++;
	return size;
}
