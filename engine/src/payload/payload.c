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
		int error = pwrite_all(fd, part, PART_BYTES, done);
		if (error != 0)
			status = failure_set_errno(failure, error, "cannot fill the payload");
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
	*payload = (struct payload){.seed = seed};
	payload->fd = memfd_create("landspeed-payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return payload->fd < 0 ? failure_set_errno(failure, errno, "memfd_create") : 0;
}

static int payload_seal_or_close(struct payload *payload, struct failure *failure)
{
	int status = payload_seal(payload->fd, failure);
	if (status != 0)
		payload_close(payload);
	return status;
}

int payload_open(struct payload *payload, uint64_t seed, struct failure *failure)
{
	if (memory_file(payload, seed, failure) != 0)
		return -1;
	if (payload_fill(payload->fd, seed, failure) == 0)
		return payload_seal_or_close(payload, failure);
	payload_close(payload);
	return -1;
}

int payload_given(void)
{
	const char *word = getenv("LANDSPEED_PAYLOAD");
	return word != NULL ? (int)strtol(word, NULL, 10) : -1;
}

/* Each makes a file of its own even so, and leaves it empty: Linux draws a random number for a
 * file, and a guest that gave its senders one would not be the same as one that did not. */
int payload_share(struct payload *payload, int given, struct failure *failure)
{
	if (memory_file(payload, 0, failure) != 0)
		return -1;
	payload->blank = true;
	if (dup3(given, payload->fd, O_CLOEXEC) >= 0 && ftruncate(payload->fd, PAYLOAD_BYTES) == 0)
		return payload_seal_or_close(payload, failure);
	failure_set_errno(failure, errno, "LANDSPEED_PAYLOAD");
	payload_close(payload);
	return -1;
}

int payload_map(struct payload *payload, struct failure *failure)
{
	int at_once =
	    payload->blank ? 0 : MAP_POPULATE; /* a page of zeros has memory from then on */
	void *bytes = mmap(NULL, PAYLOAD_BYTES, PROT_READ, MAP_SHARED | at_once, payload->fd, 0);
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
		if (!payload->blank)
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
