#include "owners.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 64, NAME_BYTES = 16 };

// The name of a process, such that it can stand in a CSV.
static void name_read(const char *pid, char *name)
{
	char path[PATH_BYTES];
	(void)snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	name[0] = '\0';
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return;
	if (fgets(name, NAME_BYTES, file) == NULL)
		name[0] = '\0';
	(void)fclose(file);
	for (char *at = name; *at != '\0'; at++) {
		if (*at == '\n')
			*at = '\0';
		else if (*at == ',' || *at == '"' || !isprint((unsigned char)*at))
			*at = '_';
	}
}

static void descriptors_scan(const char *pid,
			     void (*found)(unsigned long inode, int pid, const char *name))
{
	char path[PATH_BYTES], target[PATH_BYTES], name[NAME_BYTES] = "";
	(void)snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	DIR *folder = opendir(path);
	if (folder == NULL) // it has ended
		return;
	const struct dirent *entry;
	while ((entry = readdir(folder)) != NULL) {
		if (entry->d_type != DT_LNK) // "." and "..": to read those would fail (sockwatch.c)
			continue;
		ssize_t length =
		    readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
		if (length <= 0)
			continue;
		target[length] = '\0';
		if (strncmp(target, "socket:[", 8) != 0)
			continue;
		if (name[0] == '\0')
			name_read(pid, name);
		found(strtoul(target + 8, NULL, 10), (int)strtol(pid, NULL, 10), name);
	}
	(void)closedir(folder);
}

void owners_scan(void (*found)(unsigned long inode, int pid, const char *name))
{
	DIR *folder = opendir("/proc");
	if (folder == NULL)
		return;
	const struct dirent *entry;
	while ((entry = readdir(folder)) != NULL) {
		if (isdigit((unsigned char)entry->d_name[0]))
			descriptors_scan(entry->d_name, found);
	}
	(void)closedir(folder);
}
