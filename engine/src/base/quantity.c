#include "base/quantity.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

#define KIBI(n) (UINT64_C(1) << (10 * (n)))

static const struct unit byte_units[] = {
    {"", 1},
    {"B", 1},
    {"k", 1000},
    {"K", 1000},
    {"kB", 1000},
    {"M", 1000000},
    {"MB", 1000000},
    {"G", 1000000000},
    {"GB", 1000000000},
    {"T", UINT64_C(1000000000000)},
    {"TB", UINT64_C(1000000000000)},
    {"Ki", KIBI(1)},
    {"KiB", KIBI(1)},
    {"Mi", KIBI(2)},
    {"MiB", KIBI(2)},
    {"Gi", KIBI(3)},
    {"GiB", KIBI(3)},
    {"Ti", KIBI(4)},
    {"TiB", KIBI(4)},
    {NULL, 0},
};

static const struct unit duration_units[] = {
    {"", 1000000000}, {"s", 1000000000},    {"ms", 1000000}, {"us", 1000},
    {"ns", 1},        {"min", 60000000000}, {NULL, 0},
};

static const struct unit rate_units[] = {
    {"", 1},
    {"bit/s", 1},
    {"k", 1000},
    {"kbit/s", 1000},
    {"M", 1000000},
    {"Mbit/s", 1000000},
    {"G", 1000000000},
    {"Gbit/s", 1000000000},
    {"T", UINT64_C(1000000000000)},
    {"Tbit/s", UINT64_C(1000000000000)},
    {NULL, 0},
};

/* Reads digits; false on overflow. Advances *text past them. */
static bool digits_read(const char **text, uint64_t *value, unsigned *count)
{
	*value = 0;
	*count = 0;
	while (isdigit((unsigned char)**text)) {
		uint64_t digit = (uint64_t)(**text - '0');
		if (__builtin_mul_overflow(*value, UINT64_C(10), value) ||
		    __builtin_add_overflow(*value, digit, value))
			return false;
		(*text)++;
		(*count)++;
	}
	return true;
}

static bool number_scale(uint64_t whole, uint64_t fraction, unsigned digits, uint64_t factor,
			 uint64_t *value)
{
	uint64_t divisor = 1;
	for (unsigned i = 0; i < digits; i++)
		divisor *= 10;
	uint64_t part;
	uint64_t result;
	if (__builtin_mul_overflow(whole, factor, &result) ||
	    __builtin_mul_overflow(fraction, factor, &part) ||
	    __builtin_add_overflow(result, part / divisor, &result))
		return false;
	*value = result;
	return true;
}

static bool number_parse(const char *text, const struct unit *units, uint64_t *value)
{
	uint64_t whole;
	uint64_t fraction = 0;
	unsigned whole_digits;
	unsigned fraction_digits = 0;
	if (!digits_read(&text, &whole, &whole_digits) || whole_digits == 0)
		return false;
	if (*text == '.') {
		text++;
		/* Nine digits reach a nanosecond; more would only overflow. */
		if (!digits_read(&text, &fraction, &fraction_digits) || fraction_digits == 0 ||
		    fraction_digits > 9)
			return false;
	}
	if (*text == ' ')
		text++;
	for (const struct unit *unit = units; unit->name != NULL; unit++) {
		if (strcmp(unit->name, text) == 0)
			return number_scale(whole, fraction, fraction_digits, unit->factor, value);
	}
	return false;
}

bool quantity_parse_integer(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	uint64_t number;
	unsigned count;
	if (!digits_read(&text, &number, &count) || count == 0 || *text != '\0')
		return false;
	if (number < low || number > high)
		return false;
	*value = number;
	return true;
}

bool quantity_parse_bytes(const char *text, uint64_t *bytes)
{
	return number_parse(text, byte_units, bytes);
}

bool quantity_parse_duration(const char *text, uint64_t *ns)
{
	return number_parse(text, duration_units, ns);
}

bool quantity_parse_rate(const char *text, uint64_t *bits_per_second)
{
	return number_parse(text, rate_units, bits_per_second);
}
