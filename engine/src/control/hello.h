/*
 * How a data connection begins: the receiver challenges it, and the sender proves that it is of
 * this session.
 *
 *   receiver → sender   magic and version (8 bytes), nonce (32)
 *   sender → receiver   magic and version (8 bytes), stream (4, big-endian), zeros (4), proof (32)
 *
 * The proof is an HMAC (HMAC-SHA-512-256 of libsodium) under the session's secret; it covers
 * direction, stream and nonce. Each connection has a nonce of its own, so that what was seen on one
 * is of no use on another. With a key the secret is derived from it and never travels (auth.h);
 * without one it is the grant's token, which travels in clear. What follows on the connection is
 * neither tagged nor encrypted.
 */
#ifndef LANDSPEED_CONTROL_HELLO_H
#define LANDSPEED_CONTROL_HELLO_H

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
	uint8_t proof[PROOF_BYTES];
};

void challenge_encode(const uint8_t nonce[NONCE_BYTES], uint8_t bytes[CHALLENGE_BYTES]);
/* False when the bytes are not a challenge of this protocol version. */
bool challenge_decode(const uint8_t bytes[CHALLENGE_BYTES], uint8_t nonce[NONCE_BYTES]);

/* The sender's answer, for that stream of the session with that secret. */
void hello_prove(struct hello *hello, uint32_t stream, const uint8_t secret[SECRET_BYTES],
		 const uint8_t nonce[NONCE_BYTES]);
/* Takes the same time wherever the proof differs. */
bool hello_check(const struct hello *hello, const uint8_t secret[SECRET_BYTES],
		 const uint8_t nonce[NONCE_BYTES]);
void hello_encode(const struct hello *hello, uint8_t bytes[HELLO_BYTES]);
/* False when the bytes are not a hello of this protocol version. */
bool hello_decode(const uint8_t bytes[HELLO_BYTES], struct hello *hello);

#endif
