#include "base/output.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_SUFFIX ".partial"

static bool path_is_file(const char *path)
{
	return path != NULL && strcmp(path, "-") != 0;
}

/* A device, a pipe or a socket: it is written to, and nothing else takes its name. */
static bool path_is_special(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/* Sessions are processes, and several may end at once. */
static int temporary_name(const char *path, char *name, size_t size, struct failure *failure)
{
	int length = snprintf(name, size, "%s" TEMPORARY_SUFFIX ".%ld", path, (long)getpid());
	if (length < 0 || (size_t)length >= size)
		return failure_set(failure, "the path '%.100s...' is too long", path);
	return 0;
}

int output_check(const char *path, struct failure *failure)
{
	char name[PATH_MAX];
	if (!path_is_file(path))
		return 0;
	if (path_is_special(path))
		return access(path, W_OK) == 0
			   ? 0
			   : failure_set_errno(failure, errno, "cannot write the result to '%s'",
					       path);
	if (temporary_name(path, name, sizeof(name), failure) != 0)
		return -1;
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return failure_set_errno(failure, errno, "cannot write the result to '%s'", path);
	(void)close(fd);
	(void)unlink(name);
	return 0;
}

static int stream_write(FILE *file, const char *text, const char *path, struct failure *failure)
{
	if (fputs(text, file) == EOF || fputc('\n', file) == EOF || fflush(file) == EOF)
		return failure_set_errno(failure, errno, "cannot write the result to '%s'", path);
	return 0;
}

static int file_write(const char *path, const char *text, struct failure *failure)
{
	char name[PATH_MAX];
	bool special = path_is_special(path);
	if (!special && temporary_name(path, name, sizeof(name), failure) != 0)
		return -1;
	FILE *file = fopen(special ? path : name, "we");
	if (file == NULL)
		return failure_set_errno(failure, errno, "cannot write the result to '%s'", path);
	int status = stream_write(file, text, path, failure);
	if (fclose(file) != 0 && status == 0)
		status = failure_set_errno(failure, errno, "cannot write the result to '%s'", path);
	if (special)
		return status;
	if (status == 0 && rename(name, path) != 0)
		status = failure_set_errno(failure, errno, "cannot write the result to '%s'", path);
	if (status != 0)
		(void)unlink(name);
	return status;
}

int output_write(const char *path, const cJSON *object, struct failure *failure)
{
	if (path == NULL)
		return 0;
	char *text = path_is_file(path) ? json_print_pretty(object) : json_print(object);
	int status = path_is_file(path) ? file_write(path, text, failure)
					: stream_write(stdout, text, path, failure);
	free(text);
	return status;
}

void output_note(const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length >= 0)
		log_event("note", NULL, "%s", text);
}
