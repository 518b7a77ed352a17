/*
 * How a connection begins. The server has one port for control and data, and challenges whoever
 * comes there; the first bytes of the answer tell what the connection is.
 *
 *   server → client   magic and version (8 bytes), nonce (32)
 *   client → server   of data: magic and version (8 bytes), stream (4), session (4), proof (32)
 *                     of control: the first frame (frame.h)
 *
 * A frame begins with zero, and the magic does not. Integers are big-endian. The session's number
 * is the grant's: by it the server finds the process that the connection is for, which looks at the
 * proof. That is an HMAC (HMAC-SHA-512-256 of libsodium) under the session's secret; it covers
 * direction, stream and nonce. Each connection has a nonce of its own, so that what was seen on one
 * is of no use on another. With a key the secret is derived from it and never travels (auth.h);
 * without one it is the grant's token, which travels in clear. What follows on the connection is
 * neither tagged nor encrypted.
 */
#pragma once

#include "base/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define SECRET_BYTES    32
#define CHALLENGE_BYTES 40
#define HELLO_BYTES     48
#define NONCE_BYTES     32
#define PROOF_BYTES     32

struct hello {
	uint32_t stream;
	uint32_t session;
	uint8_t proof[PROOF_BYTES];
};

void challenge_encode(const uint8_t nonce[NONCE_BYTES], uint8_t bytes[CHALLENGE_BYTES]);
/* False when the bytes are not a challenge of this protocol version. */
bool challenge_decode(const uint8_t bytes[CHALLENGE_BYTES], uint8_t nonce[NONCE_BYTES]);

/* A new challenge, with a random nonce. */
void challenge_make(uint8_t nonce[NONCE_BYTES], uint8_t bytes[CHALLENGE_BYTES]);

/* Can the first byte of a connection be that of a hello? Of no frame it can. */
bool hello_begins(uint8_t first);
/* Fills in the proof of the sender's answer, for the session with that secret. */
void hello_prove(struct hello *hello, const uint8_t secret[SECRET_BYTES],
		 const uint8_t nonce[NONCE_BYTES]);
/* Takes the same time wherever the proof differs. */
bool hello_check(const struct hello *hello, const uint8_t secret[SECRET_BYTES],
		 const uint8_t nonce[NONCE_BYTES]);
void hello_encode(const struct hello *hello, uint8_t bytes[HELLO_BYTES]);
/* False when the bytes are not a hello of this protocol version. */
bool hello_decode(const uint8_t bytes[HELLO_BYTES], struct hello *hello);
