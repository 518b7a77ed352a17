/* The sender's side of a file transfer: shared by files_send*.c only. */
#ifndef LANDSPEED_FILES_SEND_INSIDE_H
#define LANDSPEED_FILES_SEND_INSIDE_H

#include "files_progress.h"
#include "files_stream.h"

struct files_session {
	struct file_set set;
	struct work *work;
	struct files_sending sending;
	struct progress_line line;
	uint8_t *have_bitmap; /* HAVE_BLOCKS / 8 bytes to decode into */
	bool quiet;           /* no progress */
	bool ending;          /* a signal or a lost stream: the timer runs */
	unsigned lost_stream;
	int lost_error;
};

#endif
