#include "base/log.h"

#include "base/clock.h"
#include "base/text_sanitize.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool as_json;

void log_as_json(bool json)
{
	as_json = json;
}

bool log_is_json(void)
{
	return as_json;
}

/* RFC 3339 with milliseconds. */
static void time_add(cJSON *line)
{
	char text[40];
	char whole[24];
	struct tm parts;
	uint64_t now_ns = clock_unix_ns();
	time_t seconds = (time_t)(now_ns / NS_PER_S);
	if (gmtime_r(&seconds, &parts) == NULL ||
	    strftime(whole, sizeof(whole), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
		whole[0] = '\0';
	(void)snprintf(text, sizeof(text), "%s.%03uZ", whole,
		       (unsigned)(now_ns % NS_PER_S / NS_PER_MS));
	json_add_text(line, "time", text);
}

/* One write per line: those of several sessions do not mix. */
static void line_write(char *text)
{
	size_t length = strlen(text);
	size_t done = 0;
	text[length++] = '\n';
	while (done < length) {
		ssize_t written = write(STDERR_FILENO, text + done, length - done);
		if (written < 0 && errno != EINTR)
			return; /* nobody to tell when standard error is gone */
		done += written > 0 ? (size_t)written : 0;
	}
}

void log_event(const char *event, cJSON *fields, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	if (vsnprintf(text, sizeof(text) - 1, format, arguments) < 0)
		text[0] = '\0';
	va_end(arguments);
	text_sanitize(text);
	if (!as_json) {
		cJSON_Delete(fields);
		(void)fprintf(stderr, "landspeed-engine: %s\n", text);
		return;
	}
	cJSON *line = cJSON_CreateObject();
	time_add(line);
	json_add_text(line, "event", event);
	json_add_u64(line, "pid", (uint64_t)getpid());
	json_add_text(line, "message", text);
	while (fields != NULL && fields->child != NULL) {
		cJSON *item = cJSON_DetachItemViaPointer(fields, fields->child);
		json_add_item(line, item->string, item);
	}
	cJSON_Delete(fields);
	char *json = json_print(line);
	cJSON_Delete(line);
	line_write(json); /* the line feed takes the place of the NUL */
	free(json);
}
