#include "files/wanted.h"

#include "files/list.h"

#include <string.h>

void wanted_add(cJSON *request, char *const *paths, unsigned count)
{
	cJSON *list = json_add_array(request, "paths");
	for (unsigned i = 0; i < count; i++)
		(void)cJSON_AddItemToArray(list, cJSON_CreateString(paths[i]));
}

/* In place. An absolute one stays so, to be refused as it is. */
static void path_clean(char *path)
{
	char *end = path;
	bool contents = false;
	for (char *at = path[0] == '/' ? path + strlen(path) : path; *at != '\0';) {
		size_t count = strcspn(at, "/");
		bool named = count > 1 || (count == 1 && at[0] != '.');
		bool last = at[count] == '\0';
		if (named) {
			if (end != path)
				*end++ = '/';
			memmove(end, at, count);
			end += count;
		}
		contents = last ? !named && count != 0 : at[count + 1] == '\0';
		at += count + (last ? 0 : 1);
	}
	if (path[0] == '/')
		return;
	if (end == path)
		*end++ = '.';
	else if (contents)
		*end++ = '/';
	*end = '\0';
}

static bool is_among(char *const *paths, unsigned count, const char *path)
{
	for (unsigned i = 0; i < count; i++) {
		if (strcmp(paths[i], path) == 0)
			return true;
	}
	return false;
}

int wanted_take(cJSON *request, char **paths, unsigned *count, struct failure *failure)
{
	const cJSON *item;
	char text[512];
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(request, "paths");
	*count = 0;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) < 1 ||
	    cJSON_GetArraySize(list) > WANTED_LIMIT)
		return failure_set(failure, "request: paths must be 1 to %d", WANTED_LIMIT);
	cJSON_ArrayForEach(item, list)
	{
		char *path = cJSON_GetStringValue(item);
		if (path == NULL || path[0] == '\0' || strlen(path) > FILE_PATH_BYTES)
			return failure_set(failure, "request: a path must be 1 to %d bytes",
					   FILE_PATH_BYTES);
		path_clean(path);
		file_path_text(path, text, sizeof(text));
		if (is_among(paths, *count, path))
			return failure_set(failure, "request: '%.200s' is asked for twice", text);
		paths[(*count)++] = path;
	}
	return 0;
}

/* "run7" of "data/run7"; nothing, where what is in a directory is asked for. */
static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	return strcmp(name, ".") == 0 ? "" : name;
}

bool wanted_has(char *const *paths, unsigned count, const char *path)
{
	size_t length = strcspn(path, "/");
	for (unsigned i = 0; i < count; i++) {
		const char *name = last_name(paths[i]);
		if (name[0] == '\0' || (strlen(name) == length && strncmp(name, path, length) == 0))
			return true;
	}
	return false;
}
