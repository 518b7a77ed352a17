/*
 * One open file at the sender. Blocks are read into a buffer of the stream's own and copied by
 * send(2): what the checksum was computed of is what travels, whatever happens to the file
 * meanwhile. sendfile(2) would send pages that the file's writer can still change. After each read
 * the file is compared with what the list said, so that a set of blocks that is whole is one
 * version of the file.
 */
#pragma once

#include "files/direct.h"
#include "files/walk.h"

#include <stdbool.h>

struct file_source {
	int fd; /* -1: none */
	uint32_t entry;
	bool direct;
};

/* What a thread has open stays open until it needs another file. -1 with the failure set. */
int file_source_open(struct file_source *source, const struct outgoing *outgoing, uint32_t entry,
		     enum direct_policy direct, struct failure *failure);
void file_source_close(struct file_source *source);
/* *zero: a hole, and the buffer is as it was. The buffer is aligned and takes a whole block. */
int file_source_read(const struct file_source *source, const struct outgoing *outgoing,
		     uint32_t block, void *buffer, bool *zero, struct failure *failure);
