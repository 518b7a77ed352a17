/* What a server says: lines for people, or a JSON object per line (--log json). */
#pragma once

#include "base/json.h"

#include <stdbool.h>

/* From now on log_event and output_note write JSON. */
void log_as_json(bool json);
bool log_is_json(void);

/* Deletes `fields` (NULL: none), which the JSON line has beside time, event, pid and message. */
void log_event(const char *event, cJSON *fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
