#include "base/json.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of the largest integer of 64 bits. */
#define DIGITS_MAX 20
/* From here on cJSON does not print an integer as it is: it keeps 15 digits of a double. */
#define EXACT_MOST 1e15

static void memory_exhausted(void)
{
	static const char text[] = "landspeed-engine: out of memory\n";
	ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)written;
	_exit(1);
}

static void *memory_take(size_t size)
{
	void *memory = malloc(size);
	if (memory == NULL)
		memory_exhausted();
	return memory;
}

void json_start(void)
{
	cJSON_Hooks hooks = {.malloc_fn = memory_take, .free_fn = free};
	cJSON_InitHooks(&hooks);
}

void json_add_u64(cJSON *object, const char *name, uint64_t value)
{
	char text[24];
	/* Raw, since cJSON's own numbers are doubles and would print 1e+15. */
	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	(void)cJSON_AddRawToObject(object, name, text);
}

void json_add_known(cJSON *object, const char *name, uint64_t value, bool known)
{
	if (known)
		json_add_u64(object, name, value);
	else
		json_add_text(object, name, NULL);
}

void json_add_seconds(cJSON *object, const char *name, uint64_t ns)
{
	char text[40];
	(void)snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, ns / NS_PER_S, ns % NS_PER_S);
	(void)cJSON_AddRawToObject(object, name, text);
}

void json_add_text(cJSON *object, const char *name, const char *text)
{
	if (text == NULL)
		(void)cJSON_AddNullToObject(object, name);
	else
		(void)cJSON_AddStringToObject(object, name, text);
}

void json_add_bool(cJSON *object, const char *name, bool value)
{
	(void)cJSON_AddBoolToObject(object, name, value);
}

void json_add_item(cJSON *object, const char *name, cJSON *item)
{
	(void)cJSON_AddItemToObject(object, name, item);
}

cJSON *json_add_object(cJSON *object, const char *name)
{
	return cJSON_AddObjectToObject(object, name);
}

cJSON *json_add_array(cJSON *object, const char *name)
{
	return cJSON_AddArrayToObject(object, name);
}

bool json_get_u64(const cJSON *object, const char *name, uint64_t low, uint64_t high,
		  uint64_t *value)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
	uint64_t integer = 0;
	if (cJSON_IsRaw(item)) {
		char *end;
		errno = 0;
		integer = strtoull(item->valuestring, &end, 10);
		if (errno != 0 || *end != '\0' || integer > JSON_INTEGER_MAX)
			return false;
	} else {
		double number = cJSON_IsNumber(item) ? item->valuedouble : -1;
		/* Written so that NaN fails too. */
		if (!(number >= 0.0 && number <= (double)JSON_INTEGER_MAX))
			return false;
		integer = (uint64_t)number;
		if ((double)integer < number)
			return false;
	}
	if (integer < low || integer > high)
		return false;
	*value = integer;
	return true;
}

const char *json_get_text(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

bool json_get_true(const cJSON *object, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* The numbers of a text, one after the other; what stands in strings is none. */
struct number_text {
	const char *at;
	const char *end;
};

static bool is_of_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool begins_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-';
}

static const char *string_end(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		at += *at == '\\' ? 1 : 0;
	return at;
}

/* Its length; 0 when there is no other. */
static size_t number_next(struct number_text *text, const char **number)
{
	for (; text->at < text->end && !begins_number(*text->at); text->at++) {
		if (*text->at == '"')
			text->at = string_end(text->at, text->end);
	}
	*number = text->at;
	while (text->at < text->end && is_of_number(*text->at))
		text->at++;
	return text->at > *number ? (size_t)(text->at - *number) : 0;
}

/* The tree has its numbers in the order of the text. */
static void integers_keep(cJSON *item, struct number_text *text)
{
	for (; item != NULL; item = item->next) {
		const char *number;
		integers_keep(item->child, text);
		if (!cJSON_IsNumber(item))
			continue;
		size_t length = number_next(text, &number);
		if (item->valuedouble < EXACT_MOST || length > DIGITS_MAX ||
		    strspn(number, "0123456789") < length)
			continue;
		char digits[DIGITS_MAX + 1];
		(void)snprintf(digits, sizeof(digits), "%.*s", (int)length, number);
		cJSON *raw = cJSON_CreateRaw(digits);
		item->type = cJSON_Raw;
		item->valuestring = raw->valuestring;
		raw->valuestring = NULL;
		cJSON_Delete(raw);
	}
}

cJSON *json_parse(const char *text, size_t length)
{
	struct number_text numbers = {.at = text, .end = text + length};
	cJSON *parsed = cJSON_ParseWithLength(text, length);
	if (parsed != NULL)
		integers_keep(parsed, &numbers);
	return parsed;
}

char *json_print(const cJSON *object)
{
	return cJSON_PrintUnformatted(object);
}

char *json_print_pretty(const cJSON *object)
{
	return cJSON_Print(object);
}
