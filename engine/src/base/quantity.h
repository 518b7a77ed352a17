/* Text to numbers with units; each returns false and leaves *value alone when the text is wrong. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Plain integer within [low, high]. */
bool quantity_parse_integer(const char *text, uint64_t low, uint64_t high, uint64_t *value);

/* Bytes: 46000000, 46M, 46MB (decimal) or 44Mi, 44MiB (binary). */
bool quantity_parse_bytes(const char *text, uint64_t *bytes);

/* Duration: seconds when bare (10, 0.5), or with ns, us, ms, s, min. */
bool quantity_parse_duration(const char *text, uint64_t *ns);

/* Rate in bit/s: 1000000000, 1G, 1Gbit/s. */
bool quantity_parse_rate(const char *text, uint64_t *bits_per_second);
