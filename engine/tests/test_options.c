#include "check.h"
#include "cpus.h"
#include "options.h"
#include "quantity.h"
#include "tune.h"

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
	(void)state;
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
	(void)state;
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
	(void)state;
	struct options options;
	struct failure failure = {0};
	SEND_OK("send", "10.0.0.1", "--streams", "8", "--window", "46000000", "--window-exact",
		"--congestion", "reno", "--time", "1037", "--receive", "memory", "--interval",
		"100000000ns", "--port", "6000", "--pacing", "10G", "--stagger", "0.5", "--samples",
		"s.csv", "--live", "-", "--json", "r.json");
	assert_string_equal(options.host, "10.0.0.1");
	assert_int_equal(options.streams, 8);
	assert_int_equal(options.window_bytes, 46000000);
	assert_true(options.window_exact);
	assert_string_equal(options.congestion, "reno");
	assert_int_equal(options.duration_ns, 1037000000000);
	assert_int_equal(options.bytes, 0);
	assert_int_equal(options.receive, RECEIVE_MEMORY);
	assert_int_equal(options.interval_ns, 100000000);
	assert_int_equal(options.port, 6000);
	assert_int_equal(options.pacing_bps, 10000000000);
	assert_int_equal(options.stagger_ns, 500000000);
	assert_string_equal(options.live, "-");
}

static void send_has_defaults(void **state)
{
	(void)state;
	struct options options;
	struct failure failure = {0};
	SEND_OK("send", "--window", "auto", "::1");
	assert_string_equal(options.host, "::1");
	assert_int_equal(options.streams, 1);
	assert_int_equal(options.window_bytes, 0);
	assert_int_equal(options.duration_ns, 10000000000);
	assert_int_equal(options.port, 5201);
	assert_int_equal(options.receive, RECEIVE_DISCARD);
	SEND_OK("send", "h", "--bytes", "1G");
	assert_int_equal(options.duration_ns, 0);
}

static void send_says_what_is_wrong(void **state)
{
	(void)state;
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
	(void)state;
	struct options options;
	struct failure failure = {0};
	SEND_OK("send", "h", "--files", "one", "--streams", "2", "two", "--direct", "off");
	assert_true(options.files);
	assert_string_equal(options.host, "h");
	assert_int_equal(options.path_count, 2);
	assert_string_equal(options.paths[0], "one");
	assert_string_equal(options.paths[1], "two");
	assert_int_equal(options.direct, DIRECT_OFF);
	assert_int_equal(options.duration_ns, 0);
}

static void receive_takes_a_directory(void **state)
{
	(void)state;
	struct options options;
	struct failure failure = {0};
	assert_int_equal(options_parse_receive(1, WORDS("receive"), &options, &failure), 0);
	assert_null(options.directory);
	assert_int_equal(options.links, LINKS_INSIDE);
	assert_false(options.no_sync);
	assert_int_equal(options_parse_receive(8,
					       WORDS("receive", "--directory", "/d", "--no-sync",
						     "--direct", "on", "--symlinks", "all"),
					       &options, &failure),
			 0);
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
	(void)state;
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
	(void)state;
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
	(void)state;
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
	(void)state;
	struct options options;
	struct failure failure = {0};
	SEND_OK("send", "h", "--send", "io_uring", "--payload-seed", "9007199254740991",
		"--affinity", "0-1", "--bind", "10.0.0.2", "--bind-device", "eth0", "--dscp", "46",
		"--mss", "8948", "--mptcp", "--pacing-total", "100G", "--notsent-lowat", "1M",
		"--omit", "5", "--receive", "verify", "--congestion", "reno,bbr");
	assert_int_equal(options.send_way, SEND_URING);
	assert_true(options.payload_seed == (UINT64_C(1) << 53) - 1);
	assert_string_equal(options.affinity, "0-1");
	assert_string_equal(options.device, "eth0");
	assert_int_equal(options.dscp, 46);
	assert_int_equal(options.mss, 8948);
	assert_true(options.mptcp);
	assert_true(options.pacing_total_bps == 100000000000);
	assert_int_equal(options.notsent_bytes, 1000000);
	assert_true(options.omit_ns == 5000000000);
	assert_int_equal(options.receive, RECEIVE_VERIFY);
	SEND_OK("send", "h");
	assert_int_equal(options.dscp, DSCP_NONE);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
