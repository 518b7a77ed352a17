/* What `send` and `receive` take for transfers of files. */
#include "base/json.h"
#include "base/quantity.h"
#include "control/frame.h"
#include "files/direct.h"
#include "files/wanted.h"
#include "options/option.h"

#include <string.h>

/* Of all else that a request has. */
#define REQUEST_ROOM_BYTES 2048

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

static int serve_directory_apply(const char *name, const char *value, struct options *options,
				 struct failure *failure)
{
	if (value[0] == '\0')
		return option_refuse(name, value, "a directory", failure);
	options->serve_directory = value;
	return 0;
}

static int max_bytes_apply(const char *name, const char *value, struct options *options,
			   struct failure *failure)
{
	uint64_t bytes = 0;
	if (!quantity_parse_bytes(value, &bytes) || bytes == 0 || bytes > JSON_INTEGER_MAX)
		return option_refuse(name, value, "an amount of bytes above 0 such as 500G",
				     failure);
	options->admission.max_file_bytes = bytes;
	return 0;
}

static int max_files_apply(const char *name, const char *value, struct options *options,
			   struct failure *failure)
{
	return option_integer(name, value, 1, FILES_LIMIT, "a number of files from 1 to 16777216",
			      &options->admission.max_files, failure);
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
     FLAG(files), HERE},
    {"direct", "auto|on|off",
     "read past the page cache; auto: large files that are not in it (auto)", READ(direct_option),
     HERE},
};

static const struct option_rule directory_rules[] = {
    {"directory", "DIR", "take files, and write them only below DIR (no files are taken)",
     READ(directory_apply), HERE},
    {"serve-directory", "DIR",
     "send files of DIR to clients that ask with 'get' (no files are sent)",
     READ(serve_directory_apply), HERE},
    {"anonymous", NULL, "take files from, and send them to, clients without a key", FLAG(anonymous),
     HERE},
};

/* Of whoever writes files: `receive`, and `get`. */
static const struct option_rule writing_rules[] = {
    {"max-bytes", "BYTES", "greatest size of all files of one transfer (any)",
     READ(max_bytes_apply), HERE},
    {"max-files", "N", "greatest number of files, directories and links of one transfer (any)",
     READ(max_files_apply), HERE},
    {"direct", "auto|on|off", "write past the page cache; auto: files from 64 MiB (auto)",
     READ(direct_option), HERE},
    {"no-sync", NULL, "do not wait until files are on the disk", FLAG(no_sync), HERE},
    {"symlinks", "inside|all|none",
     "which symbolic links to make; inside: those that stay in DIR (inside)", READ(symlinks_apply),
     HERE},
};

static const struct option_rule get_rules[] = {
    {"directory", "DIR", "write only below DIR (.)", READ(directory_apply), HERE},
};

const struct option_table options_of_writing = OPTION_TABLE(writing_rules);
const struct option_table options_of_get = OPTION_TABLE(get_rules);
const struct option_table options_of_files = OPTION_TABLE(files_rules);
const struct option_table options_of_directory = OPTION_TABLE(directory_rules);

int options_check_directory(const struct options *options, struct failure *failure)
{
	const char *first = options->directory != NULL ? "directory" : "serve-directory";
	bool any = options->directory != NULL || options->serve_directory != NULL;
	if (options->admission.max_file_bytes != 0 && options->directory == NULL)
		return failure_set(failure, "--max-bytes speaks of files: it needs --directory DIR "
					    "too");
	if (options->admission.max_files != 0 && options->directory == NULL)
		return failure_set(failure, "--max-files speaks of files: it needs --directory DIR "
					    "too");
	if (options->anonymous && !any)
		return failure_set(failure, "--anonymous speaks of files: it needs --directory DIR "
					    "or --serve-directory DIR too");
	if (any && options->key == NULL && !options->anonymous)
		return failure_set(failure,
				   "--%s: whoever reaches the port could %s there: --key FILE says "
				   "who may %s, --anonymous that anybody may",
				   first, options->directory != NULL ? "write" : "read",
				   options->directory != NULL ? "send" : "read");
	if (any && options->key != NULL && options->anonymous)
		return failure_set(failure,
				   "--anonymous: with --key nobody is anonymous; take one of them");
	return 0;
}

int options_check_get(struct options *options, struct failure *failure)
{
	if (options->path_count == 0)
		return failure_set(failure, "get needs a PATH after HOST");
	if (options->path_count > WANTED_LIMIT)
		return failure_set(failure, "get takes at most %d PATHs", WANTED_LIMIT);
	if (options->asked.bytes != 0 || options->asked.duration_ns != 0 ||
	    options->asked.omit_ns != 0 || options->asked.receive != RECEIVE_DISCARD)
		return failure_set(failure, "get has whole files sent: --bytes, --time, --omit and "
					    "--receive do not go with it");
	size_t bytes = REQUEST_ROOM_BYTES;
	for (unsigned i = 0; i < options->path_count; i++) {
		if (options->paths[i][0] == '\0')
			return failure_set(failure, "get: a PATH is empty");
		bytes += strlen(options->paths[i]) + sizeof("\"\",") - 1;
	}
	if (options->key == NULL && bytes > FRAME_REQUEST_BYTES)
		return failure_set(
		    failure,
		    "get: without a key the PATHs may have some %u bytes together; ask "
		    "for a directory, or for fewer at once",
		    FRAME_REQUEST_BYTES - REQUEST_ROOM_BYTES);
	options->asked.direction = DIRECTION_REVERSE;
	return 0;
}

int options_check_files(const struct options *options, struct failure *failure)
{
	if (options->path_count == 0)
		return failure_set(failure, "--files needs a PATH after HOST");
	if (options->asked.bytes != 0 || options->asked.duration_ns != 0 ||
	    options->asked.omit_ns != 0)
		return failure_set(
		    failure,
		    "--files sends whole files: --bytes and --time do not go with it, nor --omit");
	return 0;
}
