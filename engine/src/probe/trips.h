/*
 * Round trips: a request, an answer, and the next request, on connections that stay (as neper's
 * tcp_rr), or on a new one for each (tcp_crr). What the two ends share.
 *
 * A new connection begins with the hello of any data connection, without waiting for the challenge:
 * its nonce is its number, which follows it and must grow within its stream, so that none can be
 * repeated.
 */
#pragma once

#include "control/hello.h"

#include <stdint.h>

/* The hello, and its number (8 bytes, big-endian). */
#define TRIP_HELLO_BYTES (HELLO_BYTES + 8)

/* All of it, from a buffer of zeros. 0 or a positive errno. */
int trip_send(int fd, uint64_t count);
/* All of it, thrown away. 0, or a positive errno: ECONNRESET at the end of the connection. */
int trip_receive(int fd, uint64_t count);
void trip_nonce(uint64_t number, uint8_t nonce[NONCE_BYTES]);
