#include "base/quantity.h"
#include "check.h"
#include "net/cpus.h"
#include "net/tune.h"
#include "options/option.h"

#include <stdio.h>
#include <string.h>

#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})
#define COUNT(...) ((int)(sizeof((char *[]){__VA_ARGS__}) / sizeof(char *)))
#define SEND_OK(...)                                                                               \
	assert_int_equal(                                                                          \
	    options_parse_send(COUNT(__VA_ARGS__), WORDS(__VA_ARGS__), &options, &failure), 0)
#define SEND_BAD(part, ...)                                                                        \
	do {                                                                                       \
		struct failure why = {0};                                                          \
		assert_int_equal(                                                                  \
		    options_parse_send(COUNT(__VA_ARGS__), WORDS(__VA_ARGS__), &options, &why),    \
		    -1);                                                                           \
		if (strstr(why.text, part) == NULL)                                                \
			fail_msg("'%s' does not say '%s'", why.text, part);                        \
	} while (0)

static void quantities_are_exact(void **state)
{
	uint64_t value = 0;
	assert_true(quantity_parse_bytes("46000000", &value));
	assert_int_equal(value, 46000000);
	assert_true(quantity_parse_bytes("1.5GiB", &value));
	assert_int_equal(value, 1610612736);
	assert_true(quantity_parse_bytes("859 GB", &value));
	assert_int_equal(value, 859000000000);
	assert_true(quantity_parse_duration("0.1", &value));
	assert_int_equal(value, 100000000);
	assert_true(quantity_parse_duration("1037.000000001", &value));
	assert_int_equal(value, 1037000000001);
	assert_true(quantity_parse_duration("250us", &value));
	assert_int_equal(value, 250000);
	assert_true(quantity_parse_rate("6.63G", &value));
	assert_int_equal(value, 6630000000);
}

static void quantities_refuse_nonsense(void **state)
{
	uint64_t value = 7;
	static const char *const wrong[] = {"",   "-1",  "x",   "1..2",  "1.",
					    ".5", "1e9", "1 X", "1  ms", "99999999999999999999"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(quantity_parse_bytes(wrong[i], &value));
		assert_false(quantity_parse_duration(wrong[i], &value));
		assert_false(quantity_parse_rate(wrong[i], &value));
		assert_false(quantity_parse_integer(wrong[i], 0, UINT64_MAX, &value));
	}
	assert_false(quantity_parse_bytes("18446744073709551615k", &value));
	assert_false(quantity_parse_duration("1.1234567891", &value));
	assert_int_equal(value, 7);
}

static void send_takes_everything(void **state)
{
	struct options options;
	struct failure failure = {0};
	SEND_OK("send", "10.0.0.1", "--streams", "8", "--window", "46000000", "--window-exact",
		"--congestion", "reno", "--time", "1037", "--receive", "memory", "--interval",
		"100000000ns", "--port", "6000", "--pacing", "10G", "--stagger", "0.5", "--samples",
		"s.csv", "--live", "-", "--json", "r.json");
	assert_string_equal(options.host, "10.0.0.1");
	assert_int_equal(options.asked.streams, 8);
	assert_int_equal(options.asked.window_bytes, 46000000);
	assert_true(options.asked.window_exact);
	assert_string_equal(options.congestion, "reno");
	assert_int_equal(options.asked.duration_ns, 1037000000000);
	assert_int_equal(options.asked.bytes, 0);
	assert_int_equal(options.asked.receive, RECEIVE_MEMORY);
	assert_int_equal(options.interval_ns, 100000000);
	assert_int_equal(options.port, 6000);
	assert_int_equal(options.asked.settings.pacing_bps, 10000000000);
	assert_int_equal(options.asked.settings.stagger_ns, 500000000);
	assert_string_equal(options.live, "-");
}

static void send_has_defaults(void **state)
{
	struct options options;
	struct failure failure = {0};
	SEND_OK("send", "--window", "auto", "::1");
	assert_string_equal(options.host, "::1");
	assert_int_equal(options.asked.streams, 1);
	assert_int_equal(options.asked.window_bytes, 0);
	assert_int_equal(options.asked.duration_ns, 10000000000);
	assert_int_equal(options.port, 5201);
	assert_int_equal(options.asked.receive, RECEIVE_DISCARD);
	SEND_OK("send", "h", "--bytes", "1G");
	assert_int_equal(options.asked.duration_ns, 0);
}

static void send_says_what_is_wrong(void **state)
{
	struct options options;
	SEND_BAD("HOST", "send");
	SEND_BAD("needs --window", "send", "a", "--window-exact");
	SEND_BAD("too much", "send", "a", "b");
	SEND_BAD("PATHs after --files", "send", "a", "b");
	SEND_BAD("--files needs a PATH", "send", "a", "--files");
	SEND_BAD("--bytes and --time do not go with it", "send", "a", "--files", "p", "--time",
		 "3");
	SEND_BAD("'auto', 'on' or 'off'", "send", "a", "--files", "p", "--direct", "maybe");
	SEND_BAD("'--directory' is not an option of 'send'", "send", "a", "--directory", "d");
	SEND_BAD("--streams: '0'", "send", "a", "--streams", "0");
	SEND_BAD("1 to 128", "send", "a", "--streams", "129");
	SEND_BAD("'auto'", "send", "a", "--window", "big");
	SEND_BAD("1 GiB", "send", "a", "--window", "2G");
	SEND_BAD("--bytes: '0'", "send", "a", "--bytes", "0");
	SEND_BAD("fewer bytes", "send", "a", "--bytes", "3", "--streams", "4");
	SEND_BAD("--time: '-5'", "send", "a", "--time=-5");
	SEND_BAD("'discard', 'memory' or 'verify'", "send", "a", "--receive", "file");
	SEND_BAD("--interval: '0'", "send", "a", "--interval", "0");
	SEND_BAD("--port: '65536'", "send", "a", "--port", "65536");
	SEND_BAD("--pacing: '0'", "send", "a", "--pacing", "0");
	SEND_BAD("reno", "send", "a", "--congestion", "a-name-that-is-too-long");
	SEND_BAD("'--strems' is not an option", "send", "a", "--strems", "3");
	SEND_BAD("--streams needs a value", "send", "a", "--streams");
	SEND_BAD("'--one-off' is not an option of 'send'", "send", "a", "--one-off");
}

static void send_takes_files(void **state)
{
	struct options options;
	struct failure failure = {0};
	SEND_OK("send", "h", "--files", "one", "--streams", "2", "two", "--direct", "off");
	assert_true(options.files);
	assert_string_equal(options.host, "h");
	assert_int_equal(options.path_count, 2);
	assert_string_equal(options.paths[0], "one");
	assert_string_equal(options.paths[1], "two");
	assert_int_equal(options.direct, DIRECT_OFF);
	assert_int_equal(options.asked.duration_ns, 0);
}

static void receive_takes_a_directory(void **state)
{
	struct options options;
	struct failure failure = {0};
	assert_int_equal(options_parse_receive(1, WORDS("receive"), &options, &failure), 0);
	assert_null(options.directory);
	assert_int_equal(options.links, LINKS_INSIDE);
	assert_false(options.no_sync);
	assert_int_equal(options_parse_receive(11,
					       WORDS("receive", "--directory", "/d", "--no-sync",
						     "--direct", "on", "--symlinks", "all",
						     "--anonymous", "--max-bytes", "500G"),
					       &options, &failure),
			 0);
	assert_true(options.anonymous);
	assert_true(options.admission.max_file_bytes == UINT64_C(500000000000));
	assert_string_equal(options.directory, "/d");
	assert_true(options.no_sync);
	assert_int_equal(options.direct, DIRECT_ON);
	assert_int_equal(options.links, LINKS_ALL);
	assert_int_equal(
	    options_parse_receive(3, WORDS("receive", "--symlinks", "some"), &options, &failure),
	    -1);
	assert_non_null(strstr(failure.text, "'inside', 'all' or 'none'"));
}

static void receive_takes_its_own(void **state)
{
	struct options options;
	struct failure failure = {0};
	assert_int_equal(options_parse_receive(7,
					       WORDS("receive", "--one-off", "--bind", "::1",
						     "--idle-timeout", "5s", "--data-port=7000"),
					       &options, &failure),
			 0);
	assert_true(options.one_off);
	assert_string_equal(options.bind, "::1");
	assert_int_equal(options.idle_timeout_ns, 5000000000);
	assert_int_equal(options.data_port, 7000);
	assert_int_equal(options_parse_receive(2, WORDS("receive", "host"), &options, &failure),
			 -1);
	assert_non_null(strstr(failure.text, "'host' is too much"));
}

static void processors_are_lists(void **state)
{
	struct cpus cpus;
	assert_true(cpus_parse("3,0-2,2", &cpus));
	assert_int_equal(cpus.count, 4);
	assert_int_equal(cpus.number[0], 3);
	assert_int_equal(cpus.number[3], 2);
	static const char *const wrong[] = {"",     "a",    "1-", "-1", "2-1",
					    "1,,2", "1024", "1 ", "0x1"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(cpus_parse(wrong[i], &cpus));
}

static void congestion_controls_go_round(void **state)
{
	char name[CONGESTION_NAME_BYTES];
	assert_true(congestion_of_stream("reno,cubic,bbr", 5, name));
	assert_string_equal(name, "bbr");
	assert_true(congestion_of_stream("reno", 127, name));
	assert_string_equal(name, "reno");
	assert_false(congestion_of_stream("reno,", 1, name));
	assert_false(congestion_of_stream(NULL, 0, name));
}

static void send_takes_the_way_and_the_path(void **state)
{
	struct options options;
	struct failure failure = {0};
	SEND_OK("send", "h", "--send", "io_uring", "--payload-seed", "9007199254740991",
		"--affinity", "0-1", "--bind", "10.0.0.2", "--bind-device", "eth0", "--dscp", "46",
		"--mss", "8948", "--mptcp", "--pacing-total", "100G", "--notsent-lowat", "1M",
		"--omit", "5", "--receive", "verify", "--congestion", "reno,bbr");
	assert_int_equal(options.asked.settings.send_method, SEND_URING);
	assert_true(options.asked.payload_seed == (UINT64_C(1) << 53) - 1);
	assert_string_equal(options.affinity, "0-1");
	assert_string_equal(options.device, "eth0");
	assert_int_equal(options.asked.settings.dscp, 46);
	assert_int_equal(options.mss, 8948);
	assert_true(options.asked.mptcp);
	assert_true(options.asked.settings.pacing_total_bps == 100000000000);
	assert_int_equal(options.asked.settings.notsent_bytes, 1000000);
	assert_true(options.asked.omit_ns == 5000000000);
	assert_int_equal(options.asked.receive, RECEIVE_VERIFY);
	SEND_OK("send", "h");
	assert_int_equal(options.asked.settings.dscp, DSCP_NONE);
	SEND_BAD("'io_uring'", "send", "h", "--send", "fast");
	SEND_BAD("2^53", "send", "h", "--payload-seed", "9007199254740992");
	SEND_BAD("0-3,8", "send", "h", "--affinity", "all");
	SEND_BAD("0 to 63", "send", "h", "--dscp", "64");
	SEND_BAD("88 to 32767", "send", "h", "--mss", "87");
	SEND_BAD("interface", "send", "h", "--bind-device", "a-name-too-long-for-one");
	SEND_BAD("list of them", "send", "h", "--congestion", "reno,,bbr");
	SEND_BAD("at least one block", "send", "h", "--receive", "verify", "--bytes", "96",
		 "--streams", "2");
}

/* What stands in brackets at the end of the help, when it is a value: NULL if not. */
static const char *default_of(const struct option_rule *rule)
{
	/* Said in words: no value of the option means it. */
	static const char *const words[] = {"none", "no", "any", "all"};
	static char value[32];
	const char *begin = strrchr(rule->help, '(');
	size_t length = strlen(rule->help);
	if (rule->argument == NULL || begin == NULL || rule->help[length - 1] != ')')
		return NULL;
	length -= (size_t)(begin - rule->help) + 2;
	if (length >= sizeof(value))
		return NULL;
	memcpy(value, begin + 1, length);
	value[length] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(value, words[i]) == 0)
			return NULL;
	}
	return strchr(value, ' ') == NULL && strcmp(value, "TCP_NOTSENT_LOWAT") != 0 ? value : NULL;
}

/* How many options of the table have a default; each is the same with and without it. */
static unsigned defaults_check(const struct option_table *table, bool sends)
{
	unsigned count = 0;
	for (size_t i = 0; i < table->count; i++) {
		char word[96];
		struct options with;
		struct options without;
		struct failure failure = {0};
		const char *value = default_of(&table->rules[i]);
		if (value == NULL)
			continue;
		(void)snprintf(word, sizeof(word), "--%s=%s", table->rules[i].name, value);
		int (*parse)(int, char **, struct options *, struct failure *) =
		    sends ? options_parse_send : options_parse_receive;
		char *words[] = {"command", word, "host", NULL};
		if (parse(sends ? 3 : 2, words, &with, &failure) != 0)
			fail_msg("%s", failure.text);
		words[1] = "host";
		assert_int_equal(parse(sends ? 2 : 1, words, &without, &failure), 0);
		with.paths = without.paths = NULL; /* places in the two lists of words */
		if (memcmp(&with, &without, sizeof(with)) != 0)
			fail_msg("%s is not what holds without it", word);
		count++;
	}
	return count;
}

static void every_default_is_what_the_help_says(void **state)
{
	assert_int_equal(defaults_check(&options_of_every, true), 2);
	assert_int_equal(defaults_check(&options_of_every, false), 2);
	assert_int_equal(defaults_check(&options_of_both, true), 1);
	assert_int_equal(defaults_check(&options_of_way, true), 2);
	assert_int_equal(defaults_check(&options_of_report, true), 1);
	assert_int_equal(defaults_check(&options_of_send, true), 4);
	assert_int_equal(defaults_check(&options_of_files, true), 1);
	assert_int_equal(defaults_check(&options_of_payload, true), 1);
	assert_int_equal(defaults_check(&options_of_path, true), 1);
	assert_int_equal(defaults_check(&options_of_receive, false), 1);
	assert_int_equal(defaults_check(&options_of_server, false), 6);
	assert_int_equal(defaults_check(&options_of_writing, false), 2);
}

static void probes_and_get_have_the_defaults_of_their_help(void **state)
{
	struct options with;
	struct options without;
	struct failure failure = {0};
	assert_int_equal(options_parse_round_trips(2, WORDS("rr", "host"), &without, &failure), 0);
	assert_int_equal(options_parse_round_trips(10,
						   WORDS("rr", "host", "--time", "10", "--streams",
							 "1", "--request", "1", "--response", "1"),
						   &with, &failure),
			 0);
	assert_memory_equal(&with, &without, sizeof(with));
	assert_int_equal(options_parse_datagrams(2, WORDS("udp", "host"), &without, &failure), 0);
	assert_int_equal(options_parse_datagrams(8,
						 WORDS("udp", "host", "--time", "10", "--rate",
						       "10M", "--size", "1400"),
						 &with, &failure),
			 0);
	assert_memory_equal(&with, &without, sizeof(with));
	assert_int_equal(options_parse_get(3, WORDS("get", "host", "path"), &without, &failure), 0);
	assert_string_equal(without.directory, ".");
	assert_int_equal(without.asked.protect, PROTECT_NONE);
	assert_int_equal(
	    options_parse_get(5, WORDS("get", "host", "path", "--key", "k"), &without, &failure),
	    0);
	assert_int_equal(without.asked.protect, PROTECT_AEAD);
}

static void a_third_party_says_all_but_what_is_of_this_host(void **state)
{
	static const char *const here[] = {
	    "help", "port",  "samples",         "json",   "key",      "tcp-info", "quiet",
	    "live", "files", "report-interval", "direct", "directory"};
	unsigned count = 0;
	for (const struct third_party_option *option = options_forwarded(); option->name != NULL;
	     option++) {
		for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++)
			assert_string_not_equal(option->name, here[i]);
		count++;
	}
	size_t all = options_of_both.count + options_of_report.count + options_of_send.count +
		     options_of_files.count + options_of_payload.count + options_of_path.count +
		     options_of_protect.count + options_of_direction.count + options_of_way.count +
		     options_of_every.count;
	/* Those above but directory, which `send` has not. */
	assert_int_equal(count, all - (sizeof(here) / sizeof(here[0]) - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_default_is_what_the_help_says),
	    cmocka_unit_test(probes_and_get_have_the_defaults_of_their_help),
	    cmocka_unit_test(a_third_party_says_all_but_what_is_of_this_host),
	    cmocka_unit_test(quantities_are_exact),
	    cmocka_unit_test(quantities_refuse_nonsense),
	    cmocka_unit_test(send_takes_everything),
	    cmocka_unit_test(send_has_defaults),
	    cmocka_unit_test(processors_are_lists),
	    cmocka_unit_test(congestion_controls_go_round),
	    cmocka_unit_test(send_takes_the_way_and_the_path),
	    cmocka_unit_test(send_says_what_is_wrong),
	    cmocka_unit_test(receive_takes_its_own),
	    cmocka_unit_test(send_takes_files),
	    cmocka_unit_test(receive_takes_a_directory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
