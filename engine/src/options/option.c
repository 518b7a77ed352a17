#include "options/option.h"

#include "base/quantity.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define RULES_MAX   96
#define FIRST_ID    256
#define HELP_INDENT 28

int option_refuse(const char *name, const char *value, const char *right, struct failure *failure)
{
	return failure_set(failure, "--%s: '%s' is not %s", name, value, right);
}

int option_integer(const char *name, const char *value, uint64_t low, uint64_t high,
		   const char *right, uint64_t *out, struct failure *failure)
{
	uint64_t number = 0;
	if (!quantity_parse_integer(value, low, high, &number))
		return option_refuse(name, value, right, failure);
	*out = number;
	return 0;
}

int option_duration(const char *name, const char *value, uint64_t low_ns, uint64_t high_ns,
		    const char *right, uint64_t *out, struct failure *failure)
{
	uint64_t number = 0;
	if (!quantity_parse_duration(value, &number) || number < low_ns || number > high_ns)
		return option_refuse(name, value, right, failure);
	*out = number;
	return 0;
}

int option_rate(const char *name, const char *value, uint64_t *bits_per_second,
		struct failure *failure)
{
	uint64_t number = 0;
	/* The kernel takes bytes per second: below 8 bit/s nothing would be left. */
	if (!quantity_parse_rate(value, &number) || number < 8 || number > UINT64_C(1) << 53)
		return option_refuse(name, value, "a rate in bit/s such as 1000000000 or 10G",
				     failure);
	*bits_per_second = number;
	return 0;
}

int option_port(const char *name, const char *value, uint16_t *out, struct failure *failure)
{
	uint64_t number = 0;
	if (option_integer(name, value, 1, 65535, "a port from 1 to 65535", &number, failure) != 0)
		return -1;
	*out = (uint16_t)number;
	return 0;
}

void option_help(const struct option_table *const *tables)
{
	for (; *tables != NULL; tables++) {
		for (size_t i = 0; i < (*tables)->count; i++) {
			const struct option_rule *rule = &(*tables)->rules[i];
			char left[64];
			int width = snprintf(left, sizeof(left), "  --%s %s", rule->name,
					     rule->argument != NULL ? rule->argument : "");
			(void)printf("%-*s%s%s\n", HELP_INDENT, left,
				     width < HELP_INDENT ? "" : " ", rule->help);
		}
	}
}

static int word_refuse(int id, char *const *argv, struct failure *failure)
{
	const char *word = argv[optind - 1];
	if (id == ':')
		return failure_set(failure, "%s needs a value; see 'landspeed-engine %s --help'",
				   word, argv[0]);
	return failure_set(failure,
			   "'%s' is not an option of '%s'; see 'landspeed-engine %s --help'", word,
			   argv[0], argv[0]);
}

/* The rule that a letter stands for; NULL when it is none of this command's. */
static const struct option_rule *letter_rule(int letter, const struct option_rule *const *rules,
					     int count)
{
	const char *name = letter == '4' ? "ipv4" : letter == '6' ? "ipv6" : "";
	for (int i = 0; i < count; i++) {
		if (strcmp(rules[i]->name, name) == 0)
			return rules[i];
	}
	return NULL;
}

static int rule_take(const struct option_rule *rule, const char *value, struct options *options,
		     struct failure *failure)
{
	static const bool yes = true;
	char *member = (char *)options + rule->member;
	if (rule->apply != NULL)
		return rule->apply(rule->name, value, options, failure);
	if (rule->argument != NULL)
		memcpy(member, &value, sizeof(value));
	else
		memcpy(member, &yes, sizeof(yes));
	return 0;
}

int option_parse_all(int argc, char **argv, const struct option_table *const *tables,
		     struct options *options, struct failure *failure)
{
	const struct option_rule *rules[RULES_MAX];
	struct option known[RULES_MAX + 1] = {0};
	int count = 0;
	for (; *tables != NULL; tables++) {
		for (size_t i = 0; i < (*tables)->count && count < RULES_MAX; i++, count++) {
			rules[count] = &(*tables)->rules[i];
			known[count].name = rules[count]->name;
			known[count].has_arg =
			    rules[count]->argument != NULL ? required_argument : no_argument;
			known[count].val = FIRST_ID + count;
		}
	}
	opterr = 0;
	optind = 0; /* glibc: start anew, so that tests may parse many command lines */
	int id;
	while ((id = getopt_long(argc, argv, ":46", known, NULL)) != -1) {
		const struct option_rule *rule =
		    id >= FIRST_ID ? rules[id - FIRST_ID] : letter_rule(id, rules, count);
		if (rule == NULL)
			return word_refuse(id, argv, failure);
		if (rule_take(rule, optarg, options, failure) != 0)
			return -1;
	}
	return 0;
}
