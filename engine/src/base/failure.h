/* One line of text that says what went wrong and what would be right. */
#pragma once

#include <stdbool.h>

struct failure {
	bool set;
	char text[512];
};

/* Keep the first cause: what fails later is usually its consequence. Returns -1 always. */
int failure_set(struct failure *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As failure_set, with ": " and the text of `error` (an errno, positive) appended. */
int failure_set_errno(struct failure *failure, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
