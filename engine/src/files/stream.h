/* The threads of a file transfer's data connections, for streams_work(). */
#pragma once

#include "files/store.h"
#include "files/work.h"
#include "transfer/streams.h"

#include <pthread.h>

struct files_sending {
	struct work *work;
	const struct file_set *set;
	enum direct_policy direct;
};

/* What made a receiving thread end the transfer, in words. */
struct files_receiving {
	struct store *store;
	_Atomic unsigned
	    busy; /* threads that work on what has come: the disk's time, not the sender's */
	pthread_mutex_t mutex;
	struct failure failure;
};

/* `context` is one of the above; each returns 0 or an errno. */
int files_stream_send(struct stream *stream, void *context);
int files_stream_receive(struct stream *stream, void *context);
