/* One option of the command line, and tables of them; for this room only. */
#pragma once

#include "options/options.h"

#include <stddef.h>

enum option_scope {
	PASSED, /* of `send`: a third party may say it too */
	HERE,   /* it names files, or speaks to people, of this host; or it is one of `receive` */
};

/*
 * A concern keeps its options in one table, in a file of its own; options.c lists which tables
 * `send` and `receive` take. The help is made from them.
 */
struct option_rule {
	const char *name;
	const char *argument; /* what the help calls its value; NULL: it takes none */
	const char *help;     /* one line, with the default in brackets */
	int (*apply)(const char *name, const char *value, struct options *options,
		     struct failure *failure); /* NULL: the member below is set */
	size_t member;                         /* offset in struct options */
	enum option_scope scope;
};

/*
 * How a rule's value is taken: by a function, as a bool that becomes true, or as the word it is. A
 * member of another type does not compile.
 */
#define READ(apply) (apply), 0
#define FLAG(member)                                                                               \
	NULL, _Generic(((struct options *)0)->member, bool : offsetof(struct options, member))
#define WORD(member)                                                                               \
	NULL,                                                                                      \
	    _Generic(((struct options *)0)->member, const char * : offsetof(struct options, member))

struct option_table {
	const struct option_rule *rules;
	size_t count;
};

#define OPTION_TABLE(rules)                                                                        \
	{                                                                                          \
		(rules), sizeof(rules) / sizeof((rules)[0])                                        \
	}

#define DAY_NS          (UINT64_C(86400) * UINT64_C(1000000000))
#define DURATION_MAX_NS (30 * DAY_NS)

extern const struct option_table options_of_every; /* all that have a session */
extern const struct option_table options_of_both;
extern const struct option_table options_of_report;
extern const struct option_table options_of_server;
extern const struct option_table options_of_receive;
extern const struct option_table options_of_send;
extern const struct option_table options_of_files;     /* send */
extern const struct option_table options_of_directory; /* receive */
extern const struct option_table options_of_writing;   /* receive, get */
extern const struct option_table options_of_get;
extern const struct option_table options_of_payload;
extern const struct option_table options_of_path;      /* send */
extern const struct option_table options_of_affinity;  /* receive */
extern const struct option_table options_of_direction; /* send */
extern const struct option_table options_of_way;       /* whoever connects */
extern const struct option_table options_of_round_trips;
extern const struct option_table options_of_datagrams;
extern const struct option_table options_of_protect;       /* send */
extern const struct option_table options_of_least_protect; /* receive */

/* Of options_check_send: what the options of a table must be together. */
int options_check_session(struct options *options, struct failure *failure);
int options_check_protect(struct options *options, struct failure *failure);
int options_check_payload(const struct options *options, struct failure *failure);

/* Each sets *out, or the failure ("--name: 'value' is not ..."), and returns 0 or -1. */
int option_refuse(const char *name, const char *value, const char *right, struct failure *failure);
int option_integer(const char *name, const char *value, uint64_t low, uint64_t high,
		   const char *right, uint64_t *out, struct failure *failure);
int option_duration(const char *name, const char *value, uint64_t low_ns, uint64_t high_ns,
		    const char *right, uint64_t *out, struct failure *failure);
int option_rate(const char *name, const char *value, uint64_t *bits_per_second,
		struct failure *failure);
/* Of several tables. */
int option_streams(const char *name, const char *value, struct options *options,
		   struct failure *failure);
int option_time(const char *name, const char *value, struct options *options,
		struct failure *failure);
int option_dscp(const char *name, const char *value, struct options *options,
		struct failure *failure);
int option_port(const char *name, const char *value, uint16_t *out, struct failure *failure);

void options_default(struct options *options);
/* Of every table; the list ends with NULL. */
void option_help(const struct option_table *const *tables);
/* argv[0] is the subcommand; optind is at the first word that is no option. 0 or -1. */
int option_parse_all(int argc, char **argv, const struct option_table *const *tables,
		     struct options *options, struct failure *failure);
