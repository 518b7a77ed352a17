/* What cJSON lacks: exact 64-bit integers, and one place that deals with memory running out. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Integers above this do not survive readers that keep numbers as doubles. */
#define JSON_INTEGER_MAX (UINT64_C(1) << 53)

/* From here on cJSON never returns NULL for want of memory: the process says so and exits 1. */
void json_start(void);

void json_add_u64(cJSON *object, const char *name, uint64_t value);
/* null when it is not known. */
void json_add_known(cJSON *object, const char *name, uint64_t value, bool known);
/* `ns` as seconds with nine decimals, or null. */
void json_add_seconds(cJSON *object, const char *name, uint64_t ns);
/* null when text is NULL. */
void json_add_text(cJSON *object, const char *name, const char *text);
void json_add_bool(cJSON *object, const char *name, bool value);
/* Hands `item` over to `object`. */
void json_add_item(cJSON *object, const char *name, cJSON *item);
cJSON *json_add_object(cJSON *object, const char *name);
cJSON *json_add_array(cJSON *object, const char *name);

/* True when `name` is there as an integer from low to high. */
bool json_get_u64(const cJSON *object, const char *name, uint64_t low, uint64_t high,
		  uint64_t *value);
/* The string, or NULL. */
const char *json_get_text(const cJSON *object, const char *name);
bool json_get_true(const cJSON *object, const char *name);

/* As cJSON_ParseWithLength; integers that would not be printed as they are stay text (cJSON_Raw).
 */
cJSON *json_parse(const char *text, size_t length);

/* Unformatted text; the caller frees it. */
char *json_print(const cJSON *object);
char *json_print_pretty(const cJSON *object);
