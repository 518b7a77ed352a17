/*
 * The data connections of one session, a thread each. The threads count what they moved; others
 * read the counts at any time.
 */
#pragma once

#include "base/failure.h"
#include "base/gate.h"
#include "net/cpus.h"
#include "net/tcpinfo.h"
#include "payload/payload.h"
#include "payload/receive_mode.h"
#include "payload/sending.h"
#include "payload/verify.h"
#include "protect/protect.h"

#include <stdbool.h>
#include <stdint.h>

struct streams;

struct stream_view {
	uint64_t bytes;       /* handed to the socket, or read from it */
	uint64_t first_ns;    /* CLOCK_MONOTONIC of the first byte read; 0 for none */
	uint64_t last_ns;     /* of the last byte read */
	uint64_t calls;       /* system calls that moved payload */
	uint64_t cpu_ns;      /* of its thread; 0 until it has finished */
	uint64_t early_bytes; /* of them, not to be counted in its goodput (telemetry/goodput.h) */
	uint64_t warm_bytes;  /* of them, before the figures began; 0 when there is no warm-up */
	bool timed_out;       /* a read of it returned after the time limit */
	bool finished;        /* its thread moves nothing any more */
	int error;            /* errno that ended it, or 0 */
};

/* TCP_INFO as the stream's own thread read it, between two of its calls. */
struct stream_answer {
	uint64_t time_ns; /* CLOCK_MONOTONIC; 0: never */
	struct tcp_info info;
};

struct sending {
	enum send_method way; /* never SEND_AUTO */
	struct payload payload;
	uint64_t span;         /* bytes of the payload that go round */
	bool made;             /* verified blocks instead of the payload */
	uint64_t seed;         /* of the blocks */
	uint32_t block_bytes;  /* of a full one */
	uint32_t slots;        /* blocks that may be in flight from one stream's memory */
	uint64_t bytes;        /* over all streams; 0: until stopped */
	uint32_t packet_bytes; /* what TCP hands to the device at once; 0: unknown (packet.h) */
	uint64_t stagger_ns;   /* stream i starts i times this after the others */
};

struct receiving {
	enum receive_mode mode;
	uint64_t seed;               /* of verified blocks */
	uint32_t block_bytes;        /* of a full one */
	uint64_t bytes;              /* over all streams; 0: until the end of the connection */
	uint64_t omit_ns;            /* warm-up from the first byte of any stream */
	uint64_t duration_ns;        /* from its end; 0: no limit */
	uint64_t window_clamp_bytes; /* offer no more than that; 0: what the kernel makes of the
					buffer */
};

/* NULL with the failure set. The streams destroy the gate too. */
struct streams *streams_create(unsigned count, struct failure *failure);
/* Calls off what has not started, waits for the threads and resets the connections. */
void streams_destroy(struct streams *set);

unsigned streams_count(const struct streams *set);
struct gate *streams_gate(const struct streams *set);
/* The set closes fd from now on. */
void streams_adopt(struct streams *set, unsigned index, int fd);
/* -1 while it has none. */
int streams_fd(const struct streams *set, unsigned index);

/* The share of stream `index` when `bytes` are split: the remainder goes to the first ones. */
uint64_t streams_share(uint64_t bytes, unsigned count, unsigned index);

/* Stream i runs on processor i of the list, round and round; before the threads are started. */
void streams_pin(struct streams *set, const struct cpus *cpus);

/*
 * Before the threads are started: what they send (`seals`), or read, is records under that secret
 * of the session. `first` is the number that the first stream's connection has there: no two share
 * a key. PROTECT_NONE: nothing changes.
 */
int streams_protect(struct streams *set, enum protect_mode mode, bool seals,
		    const uint8_t secret[PROTECT_SECRET_BYTES], unsigned first,
		    struct failure *failure);
/* The payload in so many bytes of one of the connections. */
uint64_t streams_payload(const struct streams *set, uint64_t wire_bytes);
/* Sockets must all be adopted; they become blocking. The threads wait at the gate. */
int streams_send(struct streams *set, const struct sending *sending, struct failure *failure);
/* The threads read at once; the first byte opens the gate. */
int streams_receive(struct streams *set, const struct receiving *receiving,
		    struct failure *failure);

/*
 * Threads with a body of the caller's, which gets its stream and returns 0 or an errno; one that
 * sends waits at the gate itself. streams_stop shuts the side down on which `sends` says it works.
 */
struct stream;
int streams_work(struct streams *set, bool sends, int (*work)(struct stream *stream, void *context),
		 void *context, struct failure *failure);
/* Makes the event descriptor readable; from any thread. */
void streams_post(const struct streams *set);

/* Readable when the first byte came or a stream ended; streams_acknowledge makes it quiet. */
int streams_event_fd(const struct streams *set);
void streams_acknowledge(struct streams *set);

/*
 * CLOCK_MONOTONIC from and until which reads count (receiving.omit_ns and .duration_ns): those that
 * return in between. Readers end by themselves when the time is up; by streams_stop alone they
 * would go on, for half a second at times, since it must wait for locks that they release and take
 * again at once. 0, and UINT64_MAX, while nothing has come or without such a limit.
 */
uint64_t streams_begin_ns(const struct streams *set);
uint64_t streams_end_ns(const struct streams *set);
/* Bytes that all streams have moved, by their threads' count and by the kernel's: it stands still
 * only when they do. */
uint64_t streams_moved(const struct streams *set);
/* Ends sending or reading now: a reader first takes what is in its socket. */
void streams_stop(struct streams *set);
/* As streams_stop, of threads that read and write: no call of theirs waits for the other end. */
void streams_break(struct streams *set);
/* Waits for the threads; only after streams_stop or when all have finished. */
void streams_join(struct streams *set);

/* Processor time of its thread so far; only between the start and streams_join. */
uint64_t streams_cpu_ns(const struct streams *set, unsigned index);
/*
 * Asks the stream's thread to read TCP_INFO when its call is over, from `due_ns` on: it need not
 * wait for the lock of its socket, which anybody else finds taken, even while the thread only waits
 * for a processor. One question at a time, from one thread.
 */
void streams_ask(struct streams *set, unsigned index, uint64_t due_ns);
/* From now on answers have what the congestion control says, too; before the first question. */
void streams_ask_control(struct streams *set);
/* They are of MPTCP: what is read of a connection is of all its subflows; before the first
 * question. */
void streams_join_subflows(struct streams *set);
/* TCP_INFO of stream `index`. False when the connection cannot be asked (errno says why). */
bool streams_info_read(const struct streams *set, unsigned index, struct tcp_info *info);
/* Called by the thread that gave the last answer that was wanted; before the first question. */
void streams_when_answered(struct streams *set, void (*act)(void *context), void *context);
/* The last answer; NULL while a question is open. Valid until the next one. */
const struct stream_answer *streams_answer(const struct streams *set, unsigned index);
/* Calls that moved payload, so far. */
uint64_t streams_calls(const struct streams *set, unsigned index);
void streams_look(const struct streams *set, unsigned index, struct stream_view *view);
bool streams_all_finished(const struct streams *set);
unsigned streams_open_count(const struct streams *set);
/* First error of any stream; false for none. */
bool streams_first_error(const struct streams *set, unsigned *index, int *error);
/* After streams_join: is there something behind the last byte that was to come? (Of a protected
 * stream nobody can tell: its end is a record.) */
bool streams_brought_more(const struct streams *set, unsigned index);
/* After streams_join: what the kernel said of the calls of a stream, and how its blocks lay. */
const struct send_counts *streams_counts(const struct streams *set, unsigned index);
const char *streams_pages(const struct streams *set, unsigned index);
/* After streams_join: what the verification found; NULL when there was none. */
const struct verify_report *streams_verified(const struct streams *set, unsigned index);
/* After streams_join: of the bytes of all, those that are not to be counted in the goodput. */
uint64_t streams_early_bytes(const struct streams *set);
/* What has come on all streams, read or not. */
uint64_t streams_arrived(const struct streams *set);
/* Time of the first byte of any stream; 0 for none. */
uint64_t streams_first_ns(const struct streams *set);
