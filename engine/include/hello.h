/* The 32 bytes that open each data connection: magic, version, stream index, session token. */
#ifndef LANDSPEED_HELLO_H
#define LANDSPEED_HELLO_H

#include <stdbool.h>
#include <stdint.h>

#define HELLO_BYTES   32
#define TOKEN_BYTES   16
#define TOKEN_HEX     32
#define STREAMS_LIMIT 128

struct hello {
	uint32_t stream;
	uint8_t token[TOKEN_BYTES];
};

void hello_encode(const struct hello *hello, uint8_t bytes[HELLO_BYTES]);
/* False when the bytes are not a hello of this protocol version. */
bool hello_decode(const uint8_t bytes[HELLO_BYTES], struct hello *hello);

void token_to_hex(const uint8_t token[TOKEN_BYTES], char hex[TOKEN_HEX + 1]);
bool token_from_hex(const char *hex, uint8_t token[TOKEN_BYTES]);
/* Takes the same time wherever the tokens differ. */
bool token_equal(const uint8_t a[TOKEN_BYTES], const uint8_t b[TOKEN_BYTES]);

#endif
