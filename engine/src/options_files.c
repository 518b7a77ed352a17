/* What `send` and `receive` take for transfers of files. */
#include "files_direct.h"
#include "option.h"

#include <string.h>

static int files_apply(const char *name, const char *value, struct options *options,
		       struct failure *failure)
{
	(void)name;
	(void)value;
	(void)failure;
	options->files = true;
	return 0;
}

static int direct_option(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	if (!direct_policy_parse(value, &options->direct))
		return option_refuse(name, value, "'auto', 'on' or 'off'", failure);
	return 0;
}

static int directory_apply(const char *name, const char *value, struct options *options,
			   struct failure *failure)
{
	if (value[0] == '\0')
		return option_refuse(name, value, "a directory", failure);
	options->directory = value;
	return 0;
}

static int no_sync_apply(const char *name, const char *value, struct options *options,
			 struct failure *failure)
{
	(void)name;
	(void)value;
	(void)failure;
	options->no_sync = true;
	return 0;
}

static int symlinks_apply(const char *name, const char *value, struct options *options,
			  struct failure *failure)
{
	static const char *const names[] = {
	    [LINKS_INSIDE] = "inside", [LINKS_ALL] = "all", [LINKS_NONE] = "none"};
	for (enum links_policy known = LINKS_INSIDE; known <= LINKS_NONE; known++) {
		if (strcmp(value, names[known]) == 0) {
			options->links = known;
			return 0;
		}
	}
	return option_refuse(name, value, "'inside', 'all' or 'none'", failure);
}

static const struct option_rule files_rules[] = {
    {"files", NULL, "send the PATHs after HOST: files, and directories with all in them",
     files_apply},
    {"direct", "auto|on|off", "read past the page cache: large files that are not in it (auto)",
     direct_option},
};

static const struct option_rule directory_rules[] = {
    {"directory", "DIR", "take files, and write them below DIR only (none are taken)",
     directory_apply},
    {"direct", "auto|on|off", "write past the page cache: files from 64 MiB (auto)", direct_option},
    {"no-sync", NULL, "do not wait until files are on the disk", no_sync_apply},
    {"symlinks", "inside|all|none", "links to make: those that lead to below DIR (inside)",
     symlinks_apply},
};

const struct option_table options_of_files = OPTION_TABLE(files_rules);
const struct option_table options_of_directory = OPTION_TABLE(directory_rules);

int options_check_files(const struct options *options, struct failure *failure)
{
	if (options->path_count == 0)
		return failure_set(failure, "--files needs a PATH after HOST");
	if (options->bytes != 0 || options->duration_ns != 0 || options->omit_ns != 0)
		return failure_set(
		    failure,
		    "--files sends whole files: --bytes and --time do not go with it, nor --omit");
	return 0;
}
