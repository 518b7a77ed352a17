#include "probe/trips.h"

#include "base/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define CHUNK_BYTES ((size_t)1 << 16)

static const uint8_t zeros[CHUNK_BYTES];

int trip_send(int fd, uint64_t count)
{
	while (count > 0) {
		ssize_t sent = send(fd, zeros, count < CHUNK_BYTES ? (size_t)count : CHUNK_BYTES,
				    MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno;
		count -= (uint64_t)sent;
	}
	return 0;
}

int trip_receive(int fd, uint64_t count)
{
	uint8_t one[CHUNK_BYTES];
	while (count > 0) {
		ssize_t got =
		    recv(fd, one, count < CHUNK_BYTES ? (size_t)count : CHUNK_BYTES, MSG_WAITALL);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 ? ECONNRESET : errno;
		count -= (uint64_t)got;
	}
	return 0;
}

void trip_nonce(uint64_t number, uint8_t nonce[NONCE_BYTES])
{
	memset(nonce, 0, NONCE_BYTES);
	(void)wire_put_u64(nonce + NONCE_BYTES - sizeof(number), number);
}
