#include "payload/payload.h"

#include "payload/generator.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PART_BYTES ((size_t)1 << 20)
#define SEAL_TRIES 30

static int part_write(int fd, const uint8_t *bytes, struct failure *failure)
{
	size_t left = PART_BYTES;
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
static int payload_fill(int fd, uint64_t seed, struct failure *failure)
{
	const struct generator generator = generator_create(seed, UINT32_MAX);
	int status = 0;
	uint8_t *part = malloc(PART_BYTES);
	if (part == NULL)
		return failure_set(failure, "out of memory");
	for (uint64_t done = 0; done < PAYLOAD_BYTES && status == 0; done += PART_BYTES) {
		generator_fill(&generator, done, part, PART_BYTES);
		status = part_write(fd, part, failure);
	}
	free(part);
	return status;
}

/*
 * The kernel now enforces what the header promises. It refuses while anybody holds a page, as its
 * own housekeeping does for moments; each try waits for that about 0.1 s.
 */
static int payload_seal(int fd)
{
	int status = -1;
	for (unsigned tries = 0; status != 0 && tries < SEAL_TRIES; tries++) {
		status = fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
		if (status != 0 && errno != EBUSY)
			break;
	}
	return status;
}

int payload_open(struct payload *payload, uint64_t seed, struct failure *failure)
{
	payload->bytes = NULL;
	payload->fd = memfd_create("landspeed-payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (payload->fd < 0)
		return failure_set_errno(failure, errno, "memfd_create");
	if (payload_fill(payload->fd, seed, failure) != 0)
		goto refuse;
	if (payload_seal(payload->fd) != 0) {
		(void)failure_set_errno(failure, errno, "cannot seal the payload");
		goto refuse;
	}
	return 0;
refuse:
	payload_close(payload);
	return -1;
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

bool payload_huge(struct payload *payload, uint64_t seed)
{
	const struct generator generator = generator_create(seed, UINT32_MAX);
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
