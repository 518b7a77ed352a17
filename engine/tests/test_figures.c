#include "base/clock.h"
#include "check.h"
#include "net/lowwater.h"
#include "net/net.h"
#include "net/resolve.h"
#include "net/route.h"
#include "net/window.h"
#include "telemetry/samples.h"
#include "transfer/streams.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void shares_add_up(void **state)
{
	static const uint64_t totals[] = {1, 7, 128, 1000000007, UINT64_C(859000000001)};
	for (size_t t = 0; t < sizeof(totals) / sizeof(totals[0]); t++) {
		for (unsigned count = 1; count <= 128; count++) {
			uint64_t sum = 0;
			for (unsigned i = 0; i < count; i++) {
				uint64_t share = streams_share(totals[t], count, i);
				assert_true(share - totals[t] / count <= 1);
				assert_true(i == 0 ||
					    share <= streams_share(totals[t], count, i - 1));
				sum += share;
			}
			assert_int_equal(sum, totals[t]);
		}
	}
}

static struct in6_addr site_of(const char *host)
{
	struct failure failure = {0};
	struct addrinfo *list;
	struct address address = {0};
	assert_int_equal(net_resolve(host, 1, AF_UNSPEC, &list, &failure), 0);
	memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
	address.length = list->ai_addrlen;
	freeaddrinfo(list);
	return net_site(&address);
}

/* Whoever has one address of a /64 has all 2^64: no limit for each address may be passed so. */
static void addresses_of_one_site_count_together(void **state)
{
	static const struct {
		const char *one;
		const char *other;
		bool same;
	} pairs[] = {
	    {"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:fffe", true},
	    {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
	    {"2001:db8::", "2001:db8:0:0:8000::", true},
	    {"192.0.2.1", "::ffff:192.0.2.1", true},
	    {"192.0.2.1", "192.0.2.2", false},
	    {"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
	    {"::1", "::2", false},
	};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct in6_addr one = site_of(pairs[i].one);
		struct in6_addr other = site_of(pairs[i].other);
		assert_int_equal(net_same_site(&one, &other), pairs[i].same);
	}
}

static void low_water_follows_the_spare_room(void **state)
{
	/* 10 Gbit/s over 264 ms needs 330 MB: a window of 500 MB has room, one of 330 MB none. */
	struct low_water_input input = {.rcvbuf_bytes = 1000000000,
					.window_bytes = 500000000,
					.rtt_us = 264000,
					.bytes = 1250000000,
					.elapsed_ns = NS_PER_S};
	assert_int_equal(low_water_choose(&input), 4 << 20);
	input.rcvbuf_bytes = 660000000;
	input.window_bytes = 330000000;
	assert_int_equal(low_water_choose(&input), 330000000 / 128);
	/* Unknown RTT or rate: the careful choice. */
	input.rtt_us = 0;
	assert_int_equal(low_water_choose(&input), 330000000 / 128);
	/* Never near the whole window, however idle the path. */
	input = (struct low_water_input){
	    .rcvbuf_bytes = 131072, .rtt_us = 1000, .bytes = 1, .elapsed_ns = NS_PER_S};
	assert_int_equal(low_water_choose(&input), 65536 / 8);
	/* A buffer so small that the fraction vanishes still wakes. */
	input.rcvbuf_bytes = 2;
	assert_int_equal(low_water_choose(&input), 1);
}

static void window_warns_where_it_holds_back(void **state)
{
	char text[512];
	struct window_facts facts = {.asked_bytes = 46000000,
				     .sndbuf_bytes = 184000000,
				     .rcvbuf_bytes = 92000000,
				     .advertised_bytes = 67107840,
				     .min_rtt_us = 264000,
				     .srtt_us = 264000,
				     .goodput_bps = UINT64_C(6630000000),
				     .stream_goodput_bps = 830000000,
				     .busy_us = 1000000};
	window_warning(&facts, text, sizeof(text));
	assert_string_equal(text, "");
	facts.rcvbuf_bytes = 8388608;
	window_warning(&facts, text, sizeof(text));
	assert_non_null(strstr(text, "receiver was granted 4194304 of the 46000000"));
	assert_non_null(strstr(text, "net.core.rmem_max=46000000"));
	facts.rcvbuf_bytes = 92000000;
	facts.rwnd_limited_us = 900000;
	window_warning(&facts, text, sizeof(text));
	assert_non_null(strstr(text, "90 % of the time"));
	/* With a standing queue the bottleneck never idles: a full window is no fault. */
	facts.srtt_us = 300000;
	window_warning(&facts, text, sizeof(text));
	assert_string_equal(text, "");
}

static void window_figures(void **state)
{
	assert_int_equal(window_bdp_bytes(UINT64_C(10000000000), 264000), 330000000);
	assert_int_equal(window_sender_grant(46000000, 184000000), 46000000);
	assert_int_equal(window_sender_grant(46000000, 8000000), 4000000);
	assert_int_equal(window_sender_grant(0, 8000000), 4000000);
	assert_int_equal(window_sndbuf_ask(46000000), 92000000);
	/* The kernel doubles it once more, and an int must hold that with room to spare. */
	assert_true(2 * window_sndbuf_ask(UINT64_C(1) << 30) + (64 << 20) < INT32_MAX);
	assert_int_equal(
	    window_sender_grant(UINT64_C(1) << 30, 2 * window_sndbuf_ask(UINT64_C(1) << 30)),
	    UINT64_C(1) << 30);
	/* 1 GiB loses its last byte in an int: that is no refusal. */
	char text[256];
	struct window_facts facts = {.asked_bytes = UINT64_C(1) << 30,
				     .sndbuf_bytes = 2 * window_sndbuf_ask(UINT64_C(1) << 30),
				     .rcvbuf_bytes = INT32_MAX - 1};
	window_warning(&facts, text, sizeof(text));
	assert_string_equal(text, "");
}

static size_t file_read(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	size_t count = fread(text, 1, size - 1, file);
	text[count] = '\0';
	assert_int_equal(fclose(file), 0);
	return count;
}

static void samples_have_one_integer_row_each(void **state)
{
	char path[] = "/tmp/landspeed-samples-XXXXXX";
	static char text[4096];
	struct failure failure = {0};
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)close(fd);
	struct tcp_info info = {.raw = {.snd_cwnd = 10,
					.snd_ssthresh = INT32_MAX,
					.rtt = 264000,
					.rttvar = 5,
					.min_rtt = UINT32_MAX,
					.total_retrans = 3,
					.lost = 2,
					.unacked = 20,
					.sacked = 4,
					.retrans = 1,
					.ca_state = 3,
					.delivery_rate = 125,
					.pacing_rate = UINT64_MAX,
					.busy_time = 7,
					.rwnd_limited = 8,
					.sndbuf_limited = 9,
					.rcv_space = 11,
					.snd_wnd = 12,
					.bytes_retrans = 13,
					.snd_mss = 8948}};
	struct sample sample = {
	    .time_ns = 100000000, .stream = 7, .bytes = UINT64_C(859000000000), .info = &info};
	struct samples *samples = samples_open(path, SAMPLES_SERIES, &failure);
	assert_non_null(samples);
	assert_int_equal(samples_add(samples, &sample, &failure), 0);
	assert_int_equal(samples_close(samples, &failure), 0);
	(void)file_read(path, text, sizeof(text));
	(void)unlink(path);
	const char *row = strchr(text, '\n') + 1;
	assert_memory_equal(text, "time_ns,stream,bytes,cwnd_packets,", 34);
	assert_string_equal(row, "100000000,7,859000000000,10,2147483647,264000,5,0,3,2,15,3,1000,"
				 "0,7,8,9,11,12,13,8948\n");
}

/* Every number of digits, at both ends of its range. */
static void samples_hold_numbers_of_any_size(void **state)
{
	char path[] = "/tmp/landspeed-samples-XXXXXX";
	static char text[8192];
	char expected[64];
	struct failure failure = {0};
	struct tcp_info info = {0};
	uint64_t numbers[40];
	unsigned count = 0;
	for (uint64_t power = 1; count < 38; power *= 10) {
		numbers[count++] = power - 1;
		numbers[count++] = power;
	}
	numbers[count++] = UINT64_C(10000000000000000000);
	numbers[count++] = UINT64_MAX;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)close(fd);
	struct samples *samples = samples_open(path, SAMPLES_SERIES, &failure);
	assert_non_null(samples);
	for (unsigned i = 0; i < count; i++) {
		struct sample sample = {.bytes = numbers[i], .info = &info};
		assert_int_equal(samples_add(samples, &sample, &failure), 0);
	}
	assert_int_equal(samples_close(samples, &failure), 0);
	(void)file_read(path, text, sizeof(text));
	(void)unlink(path);
	const char *row = text;
	for (unsigned i = 0; i < count; i++) {
		row = strchr(row, '\n') + 1;
		(void)snprintf(expected, sizeof(expected), "0,0,%" PRIu64 ",0,", numbers[i]);
		assert_memory_equal(row, expected, strlen(expected));
	}
}

static void samples_beyond_the_buffer_are_all_written(void **state)
{
	char path[] = "/tmp/landspeed-samples-XXXXXX";
	struct failure failure = {0};
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)close(fd);
	struct tcp_info info = {0};
	struct samples *samples = samples_open(path, SAMPLES_SERIES, &failure);
	assert_non_null(samples);
	for (unsigned i = 0; i < 100000; i++) {
		struct sample sample = {.time_ns = i, .stream = i % 8, .info = &info};
		assert_int_equal(samples_add(samples, &sample, &failure), 0);
	}
	assert_int_equal(samples_close(samples, &failure), 0);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	unsigned lines = 0;
	for (int c = fgetc(file); c != EOF; c = fgetc(file))
		lines += c == '\n' ? 1 : 0;
	(void)fclose(file);
	(void)unlink(path);
	assert_int_equal(lines, 100001);
}

static void samples_of_one_moment_can_be_taken_back(void **state)
{
	char path[] = "/tmp/landspeed-samples-XXXXXX";
	static char text[4096];
	struct failure failure = {0};
	struct tcp_info info = {0};
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)close(fd);
	struct samples *samples = samples_open(path, SAMPLES_SERIES, &failure);
	assert_non_null(samples);
	for (unsigned moment = 1; moment <= 3; moment++) {
		struct sample sample = {.time_ns = moment, .info = &info};
		if (moment == 3)
			samples_withdraw(samples);
		assert_int_equal(samples_begin(samples, 1, &failure), 0);
		assert_int_equal(samples_add(samples, &sample, &failure), 0);
	}
	assert_int_equal(samples_close(samples, &failure), 0);
	(void)file_read(path, text, sizeof(text));
	(void)unlink(path);
	assert_non_null(strstr(text, "mss_bytes\n1,0,"));
	assert_non_null(strstr(text, "\n3,0,"));
	assert_null(strstr(text, "\n2,0,"));
}

static void samples_say_when_the_disk_is_full(void **state)
{
	struct failure failure = {0};
	struct samples *samples = samples_open("/dev/full", SAMPLES_SERIES, &failure);
	assert_non_null(samples);
	assert_int_equal(samples_close(samples, &failure), -1);
	assert_non_null(strstr(failure.text, "No space left"));
	struct failure missing = {0};
	assert_null(samples_open("/no/such/folder/s.csv", SAMPLES_SERIES, &missing));
	assert_non_null(strstr(missing.text, "/no/such/folder/s.csv"));
}

static void failures_keep_the_first_cause(void **state)
{
	struct failure failure = {0};
	assert_int_equal(failure_set(&failure, "first %d", 1), -1);
	assert_int_equal(failure_set_errno(&failure, 2, "second"), -1);
	assert_string_equal(failure.text, "first 1");
	struct failure other = {0};
	(void)failure_set_errno(&other, 2, "cannot open '%s'", "x");
	assert_string_equal(other.text, "cannot open 'x': No such file or directory");
}

/* Each condition by itself: BBR, a device known to have no fq, a known RTT within a site. */
static void timers_bind_bbr_within_a_site_without_fq(void **state)
{
	const struct route plain = {.qdisc = "noqueue"};
	const struct route fq = {.qdisc = "mq", .fq = true};
	const struct route unknown = {.qdisc = ""};
	assert_true(route_timers_bind(&plain, "bbr", 1));
	assert_true(route_timers_bind(&plain, "bbr3", 999));
	assert_false(route_timers_bind(&plain, "bbr", 1000));
	assert_false(route_timers_bind(&plain, "bbr", 0));
	assert_false(route_timers_bind(&plain, "cubic", 1));
	assert_false(route_timers_bind(&fq, "bbr", 1));
	assert_false(route_timers_bind(&unknown, "bbr", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(timers_bind_bbr_within_a_site_without_fq),
	    cmocka_unit_test(shares_add_up),
	    cmocka_unit_test(addresses_of_one_site_count_together),
	    cmocka_unit_test(low_water_follows_the_spare_room),
	    cmocka_unit_test(window_warns_where_it_holds_back),
	    cmocka_unit_test(window_figures),
	    cmocka_unit_test(samples_have_one_integer_row_each),
	    cmocka_unit_test(samples_hold_numbers_of_any_size),
	    cmocka_unit_test(samples_beyond_the_buffer_are_all_written),
	    cmocka_unit_test(samples_of_one_moment_can_be_taken_back),
	    cmocka_unit_test(samples_say_when_the_disk_is_full),
	    cmocka_unit_test(failures_keep_the_first_cause),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
