/* One option of the command line, and tables of them; for options_*.c only. */
#ifndef LANDSPEED_OPTION_H
#define LANDSPEED_OPTION_H

#include "options.h"

#include <stddef.h>

/*
 * A concern keeps its options in one table, in a file of its own; options.c lists which tables
 * `send` and `receive` take. The help is made from them.
 */
struct option_rule {
	const char *name;
	const char *argument; /* what the help calls its value; NULL: it takes none */
	const char *help;     /* one line, with the default in brackets */
	int (*apply)(const char *name, const char *value, struct options *options,
		     struct failure *failure);
};

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

extern const struct option_table options_of_both;
extern const struct option_table options_of_report;
extern const struct option_table options_of_server;
extern const struct option_table options_of_receive;
extern const struct option_table options_of_send;
extern const struct option_table options_of_files;     /* send */
extern const struct option_table options_of_directory; /* receive */
extern const struct option_table options_of_payload;
extern const struct option_table options_of_path;     /* send */
extern const struct option_table options_of_affinity; /* receive */

/* Of options_check_send: what the options of a table must be together. */
int options_check_payload(const struct options *options, struct failure *failure);

/* Each sets *out, or the failure ("--name: 'value' is not ..."), and returns 0 or -1. */
int option_refuse(const char *name, const char *value, const char *right, struct failure *failure);
int option_integer(const char *name, const char *value, uint64_t low, uint64_t high,
		   const char *right, uint64_t *out, struct failure *failure);
int option_duration(const char *name, const char *value, uint64_t low_ns, uint64_t high_ns,
		    const char *right, uint64_t *out, struct failure *failure);
int option_rate(const char *name, const char *value, uint64_t *bits_per_second,
		struct failure *failure);
int option_port(const char *name, const char *value, uint16_t *out, struct failure *failure);

#endif
