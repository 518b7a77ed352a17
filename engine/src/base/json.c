#include "base/json.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
	if (!cJSON_IsNumber(item))
		return false;
	double number = item->valuedouble;
	/* Written so that NaN fails too. */
	if (!(number >= 0.0 && number <= (double)JSON_INTEGER_MAX))
		return false;
	uint64_t integer = (uint64_t)number;
	double back = (double)integer;
	if (back < number || integer < low || integer > high)
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

char *json_print(const cJSON *object)
{
	return cJSON_PrintUnformatted(object);
}

char *json_print_pretty(const cJSON *object)
{
	return cJSON_Print(object);
}
