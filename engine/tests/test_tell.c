/* Tables, intervals and verdicts: figures in, text out. */
#include "check.h"
#include "telemetry/intervals.h"
#include "telemetry/table.h"
#include "telemetry/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t size;

static FILE *memory_open(void)
{
	FILE *file = open_memstream(&text, &size);
	assert_non_null(file);
	return file;
}

static void text_has(const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in:\n%s", part, text);
}

/* The receiver's figures of 25 June 2004 give the table that NTttcp printed then. */
static void table_of_the_record_of_2004(void **state)
{
	static const double rates_kb[8] = {103524.377, 103599.008, 103495.076, 103646.475,
					   103513.398, 103489.667, 103525.760, 103520.341};
	static const uint64_t times_ms[8] = {1037090, 1037070, 1037020, 1037010,
					     1037200, 1037180, 1037180, 1037130};
	/* 26.38 % of four processors of 1.5 GHz, and 19150.83 interrupts a second. */
	struct table table = {
	    .end = "receiver",
	    .threads = 8,
	    .whole = {.bytes = 859052821760, .duration_ns = UINT64_C(1037200000000)},
	    .buffers = 159808,
	    .payload_packets = 95910126,
	    .packets_sent = 12456414,
	    .packets_received = 95910126,
	    .retransmits = 11,
	    .host = {.elapsed_ns = UINT64_C(1037200000000),
		     .cpu_busy_ns = UINT64_C(1094453440000),
		     .cpu_total_ns = UINT64_C(4148800000000),
		     .interrupts = 19863241,
		     .cycles = UINT64_C(1641680160000),
		     .cycles_source = CYCLES_ESTIMATED},
	};
	for (unsigned i = 0; i < 8; i++)
		table.thread[i] =
		    (struct goodput){.bytes = (uint64_t)(rates_kb[i] * (double)times_ms[i] + 0.5),
				     .duration_ns = times_ms[i] * 1000000};
	FILE *file = memory_open();
	table_print(file, &table);
	(void)fclose(file);
	text_has("     0     1037.090        103524.377             828.195\n");
	text_has("     7     1037.130        103520.341             828.163\n");
	/* NTttcp printed 6626.513, which is not its own bytes over its own time. */
	text_has("   859052.821760     1037.200            8956.852                  6625.938\n");
	text_has("       159808                154.076       4.83       19150.83        1.911 "
		 "(estimated)\n");
	text_has("    12456414          95910126                 11             0       26.38\n");
	free(text);
}

static void what_was_not_measured_is_not_a_number(void **state)
{
	struct table table = {.end = "sender"};
	FILE *file = memory_open();
	table_print(file, &table);
	(void)fclose(file);
	text_has("        0.000000        0.000                 n/a                     0.000\n");
	text_has("            0                  0.000        n/a            n/a          n/a\n");
	text_has("           0                 0                  0             0         n/a\n");
	free(text);
}

/* What had come at once has no rate; nor has what took less than a round trip. */
static void goodput_is_what_came_while_the_clock_ran(void **state)
{
	char words[128];
	struct goodput goodput = {.bytes = 14480, .early_bytes = 1448, .duration_ns = 1000000};
	assert_int_equal(goodput_bps(&goodput), 13032 * 8 * 1000);
	goodput.rtt_us = 1000;
	assert_int_equal(goodput_bps(&goodput), 13032 * 8 * 1000);
	goodput_text(&goodput, words, sizeof(words));
	assert_string_equal(words, "goodput 0.104 Gbit/s");
	goodput.rtt_us = 1001;
	assert_int_equal(goodput_bps(&goodput), 0);
	goodput_text(&goodput, words, sizeof(words));
	assert_string_equal(words, "too short for a rate: 1 ms, less than an RTT (1.001 ms)");
	goodput.rtt_us = 0;
	goodput.early_bytes = 14480;
	assert_int_equal(goodput_bps(&goodput), 0);
	goodput_text(&goodput, words, sizeof(words));
	assert_string_equal(words, "too short for a rate: all had come at once");
	FILE *file = memory_open();
	const struct table table = {
	    .end = "receiver", .threads = 1, .thread = {goodput}, .whole = goodput};
	table_print(file, &table);
	intervals_total(file, &goodput, 0, "receiver");
	(void)fclose(file);
	text_has("     0        0.001               n/a                 n/a\n");
	text_has("0.014480        0.001                 n/a                       n/a\n");
	text_has("14.1 KBytes              n/a       0  receiver\n");
	free(text);
}

static void intervals_are_differences(void **state)
{
	struct live_stream now[2] = {
	    {.bytes = 122875000, .cwnd_packets = 1000, .mss_bytes = 8948, .srtt_us = 119069},
	    {.bytes = 1 << 20, .retransmits = 3},
	};
	FILE *file = memory_open();
	struct intervals *intervals = intervals_create(file, 2);
	intervals_print(intervals, UINT64_C(1000000000), now);
	now[0].bytes += 245750000;
	now[1].retransmits += 2;
	intervals_print(intervals, UINT64_C(3000000000), now);
	/* The same moment again is no interval. */
	intervals_print(intervals, UINT64_C(3000000000), now);
	const struct goodput whole = {.bytes = UINT64_C(442374575000),
				      .duration_ns = UINT64_C(3600200000000)};
	intervals_total(file, &whole, 5, "receiver");
	intervals_destroy(intervals);
	(void)fclose(file);
	text_has(
	    "[  0]    0.00-1.00    sec    117 MBytes    983 Mbits/sec       0   8.53 MBytes     "
	    "119.069 ms\n");
	text_has("[  1]    0.00-1.00    sec   1.00 MBytes   8.39 Mbits/sec       3");
	text_has("[SUM]    0.00-1.00    sec    118 MBytes    991 Mbits/sec       3\n");
	text_has("[  0]    1.00-3.00    sec    234 MBytes    983 Mbits/sec       0");
	text_has("[SUM]    1.00-3.00    sec    234 MBytes    983 Mbits/sec       2\n");
	/* 2 May 2003: 0.0-3600.2 sec, 412 GBytes, 983 Mbits/sec */
	text_has("[SUM]    0.00-3600.20 sec    412 GBytes    983 Mbits/sec       5  receiver\n");
	assert_null(strstr(text, "3.00-3.00"));
	free(text);
}

static struct verdict_facts facts_make(void)
{
	return (struct verdict_facts){.duration_ns = UINT64_C(10000000000),
				      .goodput_bps = 1000000000,
				      .busy_us = 10000000,
				      .packets = 140000,
				      .min_rtt_us = 100000,
				      .srtt_us = 100100,
				      .sender_host_percent = 40,
				      .receiver_host_percent = 40};
}

static void verdict_is(const struct verdict_facts *facts, enum limit wanted, const char *part)
{
	char line[256];
	enum limit limit = verdict_find(facts, line, sizeof(line));
	if (limit != wanted || strstr(line, part) == NULL)
		fail_msg("%s (%s), not %s with '%s'", limit_name(limit), line, limit_name(wanted),
			 part);
}

static void verdicts_follow_the_kernels_accounts(void **state)
{
	struct verdict_facts facts = facts_make();
	verdict_is(&facts, LIMIT_UNKNOWN, "0 of 140000 packets were sent again");
	facts.retransmits = 14;
	facts.srtt_us = 130000;
	verdict_is(&facts, LIMIT_UNKNOWN,
		   "14 of 140000 packets were sent again, the RTT went from 100.000 to 130.000 ms; "
		   "the lines' own counters");
	facts.rwnd_limited_us = 9300000;
	facts.window_bytes = 12500000;
	verdict_is(&facts, LIMIT_UNKNOWN,
		   "window was full 93 % of the time, and the RTT grew from 100.000 to 130.000 ms: "
		   "that or a full line");
	facts.srtt_us = 100100;
	verdict_is(&facts, LIMIT_WINDOW,
		   "93 % of the time: 12500000 bytes on offer over an RTT of 100.000 ms allow "
		   "1.000 Gbit/s");
	facts.window_bytes = 14000000;
	verdict_is(&facts, LIMIT_UNKNOWN, "or its program reads too slowly");
	facts.receiver_cpu_ns = UINT64_C(9500000000);
	verdict_is(&facts, LIMIT_RECEIVER_PROCESSOR, "the receiver's thread computed 95 %");
	facts = facts_make();
	facts.rwnd_limited_us = 5000000; /* half of the time is not more than all the rest */
	verdict_is(&facts, LIMIT_UNKNOWN, "sent again");
	facts.rwnd_limited_us = 5000001;
	verdict_is(&facts, LIMIT_WINDOW, "50 % of the time");
	facts = facts_make();
	facts.sndbuf_limited_us = 6000000;
	facts.sndbuf_bytes = 4096;
	verdict_is(&facts, LIMIT_SEND_BUFFER, "the send buffer of 4096 bytes was too small 60 %");
	facts.srtt_us = 130000;
	verdict_is(&facts, LIMIT_UNKNOWN, "the send buffer was full 60 % of the time");
	facts.sender_cpu_ns = UINT64_C(9200000000);
	verdict_is(&facts, LIMIT_SENDER_PROCESSOR, "computed 92 %");
	facts = facts_make();
	facts.busy_us = 2000000;
	verdict_is(&facts, LIMIT_APPLICATION, "only 20 %");
	facts.sender_host_percent = 99;
	facts.sender_cpu_ns = UINT64_C(3000000000);
	verdict_is(&facts, LIMIT_SENDER_PROCESSOR, "host were 99 % busy; the thread got 30 %");
	facts.pacing_bps = 1050000000;
	verdict_is(&facts, LIMIT_PACING, "paced to 1.050 Gbit/s");
	facts.goodput_bps = 0;
	verdict_is(&facts, LIMIT_UNKNOWN, "nothing was transferred");
}

static void host_usage_crosses_the_connection(void **state)
{
	struct host_usage got;
	const struct host_usage sent = {.elapsed_ns = 5,
					.cpu_busy_ns = 1,
					.cpu_total_ns = 4,
					.interrupts = 3,
					.cycles = 99,
					.cycles_source = CYCLES_HOST};
	cJSON *object = host_usage_encode(&sent);
	char *json = json_print(object);
	cJSON_Delete(object);
	object = cJSON_Parse(json);
	free(json);
	assert_true(host_usage_decode(object, &got));
	assert_int_equal(got.elapsed_ns, 5);
	assert_int_equal(got.cpu_busy_ns, 1);
	assert_int_equal(got.cpu_total_ns, 4);
	assert_int_equal(got.interrupts, 3);
	assert_int_equal(got.cycles, 99);
	assert_int_equal(got.cycles_source, CYCLES_HOST);
	(void)cJSON_ReplaceItemInObject(object, "cycles_source", cJSON_CreateString("guessed"));
	assert_false(host_usage_decode(object, &got));
	assert_false(host_usage_decode(NULL, &got));
	cJSON_Delete(object);
	assert_true(host_cpu_percent(&sent) > 24.99 && host_cpu_percent(&sent) < 25.01);
	assert_true(host_cycles_per_byte(&sent, 11) > 8.99 &&
		    host_cycles_per_byte(&sent, 11) < 9.01);
	assert_true(host_cycles_per_byte(&sent, 0) < 0);
	assert_true(host_cpu_percent(&(struct host_usage){0}) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(table_of_the_record_of_2004),
	    cmocka_unit_test(goodput_is_what_came_while_the_clock_ran),
	    cmocka_unit_test(what_was_not_measured_is_not_a_number),
	    cmocka_unit_test(intervals_are_differences),
	    cmocka_unit_test(verdicts_follow_the_kernels_accounts),
	    cmocka_unit_test(host_usage_crosses_the_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
