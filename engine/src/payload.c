#include "payload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define BLOCK_WORDS (1U << 17)
#define BLOCK_BYTES (BLOCK_WORDS * sizeof(uint64_t))

/* splitmix64: a counter and three mixing steps; fast, and no page repeats. */
static uint64_t word_next(uint64_t *state)
{
	uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);
	word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
	return word ^ word >> 31;
}

static int block_write(int fd, const uint64_t *words, struct failure *failure)
{
	const char *bytes = (const char *)words;
	size_t left = BLOCK_BYTES;
	while (left > 0) {
		ssize_t written = write(fd, bytes, left);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return failure_set_errno(failure, errno, "cannot fill the payload");
		bytes += written;
		left -= (size_t)written;
	}
	return 0;
}

/* By write() and not through a mapping: page faults are what costs in a virtual machine. */
static int payload_fill(int fd, struct failure *failure)
{
	uint64_t state;
	int status = 0;
	uint64_t *words = malloc(BLOCK_BYTES);
	if (words == NULL)
		return failure_set(failure, "out of memory");
	if (getrandom(&state, sizeof(state), 0) != (ssize_t)sizeof(state))
		status = failure_set_errno(failure, errno, "getrandom");
	for (uint64_t done = 0; done < PAYLOAD_BYTES && status == 0; done += BLOCK_BYTES) {
		for (unsigned i = 0; i < BLOCK_WORDS; i++)
			words[i] = word_next(&state);
		status = block_write(fd, words, failure);
	}
	free(words);
	return status;
}

int payload_open(struct failure *failure)
{
	int fd = memfd_create("landspeed-payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return failure_set_errno(failure, errno, "memfd_create");
	if (payload_fill(fd, failure) != 0)
		goto refuse;
	/* The kernel now enforces what the header promises. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
		(void)failure_set_errno(failure, errno, "cannot seal the payload");
		goto refuse;
	}
	return fd;
refuse:
	(void)close(fd);
	return -1;
}
