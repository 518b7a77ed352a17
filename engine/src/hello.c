#include "hello.h"

#include <stddef.h>
#include <string.h>

static const uint8_t hello_magic[8] = {'l', 's', 'p', 'd', 'a', 't', 'a', 1};

#define STREAM_OFFSET 8
#define TOKEN_OFFSET  16

_Static_assert(TOKEN_HEX == 2 * TOKEN_BYTES, "two digits a byte");

void hello_encode(const struct hello *hello, uint8_t bytes[HELLO_BYTES])
{
	memset(bytes, 0, HELLO_BYTES);
	memcpy(bytes, hello_magic, sizeof(hello_magic));
	for (unsigned i = 0; i < 4; i++)
		bytes[STREAM_OFFSET + i] = (uint8_t)(hello->stream >> (24 - 8 * i));
	memcpy(bytes + TOKEN_OFFSET, hello->token, TOKEN_BYTES);
}

bool hello_decode(const uint8_t bytes[HELLO_BYTES], struct hello *hello)
{
	if (memcmp(bytes, hello_magic, sizeof(hello_magic)) != 0)
		return false;
	hello->stream = 0;
	for (unsigned i = 0; i < 4; i++)
		hello->stream = hello->stream << 8 | bytes[STREAM_OFFSET + i];
	memcpy(hello->token, bytes + TOKEN_OFFSET, TOKEN_BYTES);
	return true;
}

void token_to_hex(const uint8_t token[TOKEN_BYTES], char hex[TOKEN_HEX + 1])
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < TOKEN_BYTES; i++) {
		hex[2 * i] = digits[token[i] >> 4];
		hex[2 * i + 1] = digits[token[i] & 15];
	}
	hex[TOKEN_HEX] = '\0';
}

static int digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	return -1;
}

bool token_from_hex(const char *hex, uint8_t token[TOKEN_BYTES])
{
	if (strlen(hex) != TOKEN_HEX)
		return false;
	for (size_t i = 0; i < TOKEN_BYTES; i++) {
		int high = digit_value(hex[2 * i]);
		int low = digit_value(hex[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		token[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

bool token_equal(const uint8_t a[TOKEN_BYTES], const uint8_t b[TOKEN_BYTES])
{
	unsigned difference = 0;
	for (size_t i = 0; i < TOKEN_BYTES; i++)
		difference |= (unsigned)(a[i] ^ b[i]);
	return difference == 0;
}
