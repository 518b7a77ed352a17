#include "files/wanted.h"

#include "files/list.h"

#include <string.h>

void wanted_add(cJSON *request, char *const *paths, unsigned count)
{
	cJSON *list = json_add_array(request, "paths");
	for (unsigned i = 0; i < count; i++)
		(void)cJSON_AddItemToArray(list, cJSON_CreateString(paths[i]));
}

int wanted_take(const cJSON *request, char **paths, unsigned *count, struct failure *failure)
{
	const cJSON *item;
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
