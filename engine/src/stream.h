/* One stream as its thread sees it: shared by streams.c and the bodies of its threads only. */
#ifndef LANDSPEED_STREAM_H
#define LANDSPEED_STREAM_H

#include "buffer.h"
#include "streams.h"

#include <pthread.h>
#include <stdatomic.h>

struct stream {
	struct streams *set;
	unsigned index;
	int fd;
	uint64_t limit; /* bytes to move; UINT64_MAX: until stopped */
	pthread_t thread;
	bool started;
	_Atomic uint64_t bytes;
	_Atomic uint64_t first_ns;
	_Atomic uint64_t last_ns;
	_Atomic uint64_t calls; /* system calls that moved payload */
	_Atomic uint64_t cpu_ns;
	_Atomic int error;
	_Atomic bool finished;
	/* While it is set the answer is the thread's, else of whoever asks. */
	_Atomic bool asked;
	uint64_t due_ns;
	struct stream_answer answer;
	/* Of the thread; others read them after streams_join. */
	struct send_counts counts;
	enum buffer_pages pages;
	struct verifier *verifier; /* NULL unless the receiver verifies */
};

/* Thread bodies. */
void *stream_send(void *argument);
void *stream_receive(void *argument);

bool stream_stopping(const struct stream *stream);
bool stream_cut(const struct stream *stream);
const struct sending *stream_sending(const struct stream *stream);
const struct receiving *stream_receiving(const struct stream *stream);
/* The first byte of the session opens the gate and wakes the main thread. */
void stream_report_first(struct stream *stream, uint64_t now_ns);
/* After each call that moved payload. */
void stream_count_call(struct stream *stream);
/* Last act of a thread. */
void stream_finish(struct stream *stream, int error);

#endif
