/* Bytes as text: lower-case hexadecimal digits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `hex` takes 2 * count + 1 characters. */
void hex_encode(const uint8_t *bytes, size_t count, char *hex);
/* False when the text is not exactly 2 * count lower-case digits. */
bool hex_decode(const char *hex, uint8_t *bytes, size_t count);
