/* The sender's side of a file transfer: shared by files.c and files_report.c only. */
#pragma once

#include "files/message.h"
#include "files/stream.h"
#include "send/progress.h"

struct files_session {
	struct file_set set;
	struct work *work;
	struct files_sending sending;
	struct progress_line line;
	uint8_t *have_bitmap; /* HAVE_BLOCKS / 8 bytes to decode into */
	bool quiet;           /* no progress */
	struct progress last; /* what the receiver said of itself */
	uint64_t said;        /* how often it said something new */
	bool ending;          /* a signal or a lost stream: the timer runs */
	unsigned lost_stream;
	int lost_error;
};
