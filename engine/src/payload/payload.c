#include "payload/payload.h"

#include "base/pread_all.h"
#include "payload/generator.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PART_BYTES ((size_t)1 << 20)
#define SEAL_TRIES 30
#define SEALS      (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

static int part_write(int fd, const void *bytes, size_t count, uint64_t at, struct failure *failure)
{
	int error = pwrite_all(fd, bytes, count, at);
	return error != 0 ? failure_set_errno(failure, error, "cannot fill the payload") : 0;
}

/* By write() and not through a mapping: page faults are what costs in a virtual machine. */
static int payload_fill(int fd, uint64_t seed, struct failure *failure)
{
	const struct generator generator = generator_create(seed, UINT32_MAX);
	int status = 0;
	uint8_t *part = malloc(PART_BYTES);
	if (part == NULL)
		return failure_set(failure, "out of memory");
	for (uint64_t done = 0; done < PAYLOAD_BYTES && status == 0; done += PART_BYTES) {
		generator_fill(&generator, done, part, PART_BYTES);
		status = part_write(fd, part, PART_BYTES, done, failure);
	}
	free(part);
	return status;
}

/*
 * The kernel now enforces what the header promises. It refuses while anybody holds a page, as its
 * own housekeeping does for moments; each try waits for that about 0.1 s.
 */
static int payload_seal(int fd, struct failure *failure)
{
	int status = -1;
	for (unsigned tries = 0; status != 0 && tries < SEAL_TRIES; tries++) {
		status = fcntl(fd, F_ADD_SEALS, SEALS);
		if (status != 0 && errno != EBUSY)
			break;
	}
	return status != 0 ? failure_set_errno(failure, errno, "cannot seal the payload") : 0;
}

static int memory_file(struct payload *payload, uint64_t seed, struct failure *failure)
{
	payload->bytes = NULL;
	payload->seed = seed;
	payload->fd = memfd_create("landspeed-payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return payload->fd < 0 ? failure_set_errno(failure, errno, "memfd_create") : 0;
}

int payload_open(struct payload *payload, uint64_t seed, struct failure *failure)
{
	if (memory_file(payload, seed, failure) != 0)
		return -1;
	if (payload_fill(payload->fd, seed, failure) == 0 &&
	    payload_seal(payload->fd, failure) == 0)
		return 0;
	payload_close(payload);
	return -1;
}

int payload_given(void)
{
	const char *word = getenv("LANDSPEED_PAYLOAD");
	return word != NULL ? (int)strtol(word, NULL, 10) : -1;
}

/* Of the process, not of the descriptor: all have that one from their common parent. */
static int payload_lock(int fd, short kind, struct failure *failure)
{
	struct flock lock = {.l_type = kind, .l_whence = SEEK_SET};
	int status;
	do
		status = fcntl(fd, F_SETLKW, &lock);
	while (status != 0 && errno == EINTR);
	return status != 0 ? failure_set_errno(failure, errno, "cannot lock the payload") : 0;
}

/* The seed stands behind the bytes, and a file that is sealed is whole. */
static int payload_fill_once(struct payload *payload, struct failure *failure)
{
	uint8_t *seed = (uint8_t *)&payload->seed;
	const size_t size = sizeof(payload->seed);
	int seals = fcntl(payload->fd, F_GET_SEALS);
	if (seals < 0)
		return failure_set_errno(failure, errno, "LANDSPEED_PAYLOAD");
	if ((seals & SEALS) != SEALS) {
		if (payload_fill(payload->fd, payload->seed, failure) != 0 ||
		    part_write(payload->fd, seed, size, PAYLOAD_BYTES, failure) != 0)
			return -1;
		return payload_seal(payload->fd, failure);
	}
	if (pread_all(payload->fd, seed, size, size, PAYLOAD_BYTES) != (ssize_t)size)
		return failure_set(failure, "LANDSPEED_PAYLOAD: that file holds no payload");
	return 0;
}

/* Each makes a file of its own even so, and leaves it empty: Linux draws a random number for a
 * file, and a guest that gave its senders one would not be the same as one that did not. */
int payload_share(struct payload *payload, int given, uint64_t seed, struct failure *failure)
{
	if (memory_file(payload, seed, failure) != 0)
		return -1;
	int status = dup3(given, payload->fd, O_CLOEXEC) < 0
			 ? failure_set_errno(failure, errno, "LANDSPEED_PAYLOAD")
			 : payload_lock(payload->fd, F_WRLCK, failure);
	if (status == 0)
		status = payload_fill_once(payload, failure);
	if (status == 0)
		status = payload_lock(payload->fd, F_UNLCK, failure);
	if (status != 0)
		payload_close(payload);
	return status;
}

int payload_map(struct payload *payload, struct failure *failure)
{
	void *bytes =
	    mmap(NULL, PAYLOAD_BYTES, PROT_READ, MAP_SHARED | MAP_POPULATE, payload->fd, 0);
	if (bytes == MAP_FAILED)
		return failure_set_errno(failure, errno, "cannot map the payload");
	payload->bytes = bytes;
	return 0;
}

bool payload_huge(struct payload *payload)
{
	const struct generator generator = generator_create(payload->seed, UINT32_MAX);
	struct buffer huge;
	if (buffer_open(&huge, PAYLOAD_BYTES) != 0)
		return false;
	if (huge.pages != BUFFER_PAGES_PLAIN) {
		generator_fill(&generator, 0, huge.bytes, PAYLOAD_BYTES);
		if (mprotect(huge.bytes, huge.size, PROT_READ) == 0) {
			payload->huge = huge;
			payload->bytes = huge.bytes;
			return true;
		}
	}
	buffer_close(&huge);
	return false;
}

void payload_close(struct payload *payload)
{
	if (payload->huge.bytes != NULL)
		buffer_close(&payload->huge);
	else if (payload->bytes != NULL)
		(void)munmap((void *)payload->bytes, PAYLOAD_BYTES);
	if (payload->fd >= 0)
		(void)close(payload->fd);
	*payload = (struct payload){.fd = -1};
}
