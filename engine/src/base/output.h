/* Where results go: a file that is never half written, or standard output. */
#pragma once

#include "base/failure.h"
#include "base/json.h"

/* Fails early, before a transfer, when the result could not be written. NULL and "-" are fine. */
int output_check(const char *path, struct failure *failure);
/* NULL: nothing; "-": standard output, one line; a path: written beside and renamed. */
int output_write(const char *path, const cJSON *object, struct failure *failure);

/* One line for people, on standard error. */
void output_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
