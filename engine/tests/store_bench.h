/* A receiver's store in a folder of its own, threads that write to it, and a disk as a test wants
 * it. */
#pragma once

#include "base/clock.h"
#include "check.h"
#include "files/store.h"

#include <pthread.h>
#include <stdatomic.h>

#define WAIT_NS (80 * NS_PER_S)
#define ROUNDS  10
/* A file of which that many blocks came damaged is given up. */
#define FAULTS 17

/* Whole blocks wait to be written or read as long as these are set, and that many wait. */
extern _Atomic bool reads_wait;
extern _Atomic unsigned reads_waiting;
extern _Atomic bool writes_wait;
extern _Atomic unsigned writes_waiting;
/* Of every write, where it is not 0. */
extern _Atomic int write_error;

/* A millisecond. */
void nap(void);

/* Until there are so many; a test that waits for ever says nothing. */
void wait_for(_Atomic unsigned *count, unsigned wanted);

/* A receiver's directory with a store on it. */
struct bench {
	char folder[64];
	int root;
	struct store *store;
};

struct bench bench_open(void);
void bench_close(struct bench *bench);

/* A store on the folder, once more. */
void bench_store(struct bench *bench);

/* The list: one file of that many blocks. */
void file_list(struct store *store, uint32_t blocks);

/* One block of ones, whole or damaged. */
int block_put(struct store *store, uint32_t block, bool whole, struct failure *failure);

struct writer {
	pthread_t thread;
	struct store *store;
	uint32_t first;
	uint32_t count;
	bool whole;
	bool same; /* the first block again and again */
};

void writer_start(struct writer *writer);
void writer_join(const struct writer *writer);
