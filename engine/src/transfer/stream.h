/* One stream as its thread sees it, and the set it is of: for the bodies of threads. */
#pragma once

#include "payload/buffer.h"
#include "transfer/streams.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <sys/uio.h>

/* What protects a stream (protected.c). */
struct tunnel;
struct kernel_tunnel;

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
	_Atomic uint64_t early_bytes; /* that had come when its clock began (telemetry/goodput.h) */
	_Atomic uint64_t waiting_bytes; /* in its socket when the set's began */
	_Atomic uint64_t late_bytes;    /* that had come, and do not count, when the time was up */
	_Atomic uint64_t warm_bytes;    /* read before the figures began; set before `warm` */
	_Atomic bool warm;
	_Atomic bool timed_out;
	_Atomic bool finished;
	/* While it is set the answer is the thread's, else of whoever asks. */
	_Atomic bool asked;
	uint64_t due_ns;
	struct stream_answer answer;
	/* Of the thread; others read them after streams_join. */
	struct send_counts counts;
	enum buffer_pages pages;
	struct verifier *verifier;    /* NULL unless the receiver verifies */
	struct tunnel *tunnel;        /* NULL unless the engine makes its records */
	struct kernel_tunnel *kernel; /* NULL unless the kernel does */
};

struct streams {
	unsigned count;
	int event_fd;
	struct gate *gate;
	struct cpus cpus;
	struct sending sending;
	struct receiving receiving;
	bool sends;
	enum protect_mode protect;
	int (*work)(struct stream *stream, void *context);
	void *work_context;
	_Atomic bool stopping;
	_Atomic uint64_t first_ns;
	_Atomic uint64_t looked_ns; /* when it was known what waited in all sockets; 0: not yet */
	_Atomic unsigned questions; /* open */
	bool control;               /* answers have what the congestion control says */
	bool multipath;             /* the connections are of MPTCP */
	void (*answered)(void *context);
	void *answered_context;
	struct stream streams[];
};

/* Thread bodies. */
void *stream_send(void *argument);
void *stream_receive(void *argument);

bool stream_stopping(const struct stream *stream);
const struct sending *stream_sending(const struct stream *stream);
const struct receiving *stream_receiving(const struct stream *stream);
/* As streams_info_read. */
bool stream_info_read(const struct stream *stream, struct tcp_info *info);
/*
 * Its first read has brought `got` bytes; the first one of the session opens the gate, wakes the
 * main thread, and looks at what has come on the other streams.
 */
void stream_report_first(struct stream *stream, uint64_t got, uint64_t now_ns);
/* Payload that has come and is not read. */
uint64_t stream_waiting(const struct stream *stream);
/* After each call that moved payload. */
void stream_count_call(struct stream *stream);
/*
 * The parts as they are, one after the other, all of them, and used up; their bytes are counted if
 * they are payload. 0 or a positive errno.
 */
/* Before so many bytes are handed over: 0, or the errno that ends it when the key may no more. */
int stream_seal(struct stream *stream, uint64_t bytes);
int stream_send_parts(struct stream *stream, struct iovec *parts, size_t count, bool payload);
/*
 * Only with a tunnel: all of the bytes, counted, as records of their own; what is read in one piece
 * is to be written in one. 0 or a positive errno.
 */
int stream_write(struct stream *stream, const uint8_t *bytes, uint64_t count);
/* That was all; does nothing to a stream that is not protected. */
int stream_write_end(struct stream *stream);
bool stream_protected(const struct stream *stream);
/* Before its thread starts: the kernel gets the keys, where it makes the records. */
int stream_open_kernel(struct stream *stream, struct failure *failure);
/*
 * As recv(). Of a protected stream EBADMSG: what came is no record that was sealed for this place;
 * ECONNRESET: the end without the record that says so. With a tunnel the payload of one record, for
 * which there must be room.
 */
ssize_t stream_read(struct stream *stream, uint8_t *bytes, size_t room, int flags);
void tunnel_destroy(struct stream *stream);
/* Last act of a thread. */
void stream_finish(struct stream *stream, int error);
