#include "base/failure.h"

#include "base/text_sanitize.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void text_format(struct failure *failure, const char *format, va_list arguments)
{
	if (vsnprintf(failure->text, sizeof(failure->text), format, arguments) < 0)
		failure->text[0] = '\0';
	/* It may quote a peer, or a file's name. */
	text_sanitize(failure->text);
	failure->set = true;
}

int failure_set(struct failure *failure, const char *format, ...)
{
	if (failure->set)
		return -1;
	va_list arguments;
	va_start(arguments, format);
	text_format(failure, format, arguments);
	va_end(arguments);
	return -1;
}

int failure_set_errno(struct failure *failure, int error, const char *format, ...)
{
	if (failure->set)
		return -1;
	va_list arguments;
	va_start(arguments, format);
	text_format(failure, format, arguments);
	va_end(arguments);

	char reason[128];
	/* The GNU variant may return a string of its own instead of filling the buffer. */
	const char *text = strerror_r(error, reason, sizeof(reason));
	size_t used = strlen(failure->text);
	(void)snprintf(failure->text + used, sizeof(failure->text) - used, ": %s", text);
	return -1;
}
