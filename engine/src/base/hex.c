#include "base/hex.h"

#include <sodium.h>
#include <string.h>

void hex_encode(const uint8_t *bytes, size_t count, char *hex)
{
	(void)sodium_bin2hex(hex, 2 * count + 1, bytes, count);
}

bool hex_decode(const char *hex, uint8_t *bytes, size_t count)
{
	size_t length;
	const char *end;
	return strlen(hex) == 2 * count &&
	       strspn(hex, "0123456789abcdef") == 2 * count && /* one spelling only */
	       sodium_hex2bin(bytes, count, hex, 2 * count, NULL, &length, &end) == 0 &&
	       length == count;
}
