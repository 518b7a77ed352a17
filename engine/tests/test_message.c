#include "check.h"
#include "control/request.h"
#include "telemetry/report.h"

#include <stdlib.h>
#include <string.h>

static int text_parse(const char *text, struct failure *failure)
{
	cJSON *message = NULL;
	enum message_type type;
	int status = message_parse(text, strlen(text), &message, &type, failure);
	cJSON_Delete(message);
	return status;
}

static cJSON *round_trip(cJSON *message, enum message_type wanted)
{
	struct failure failure = {0};
	enum message_type type;
	cJSON *back = NULL;
	char *text = json_print(message);
	cJSON_Delete(message);
	assert_int_equal(message_parse(text, strlen(text), &back, &type, &failure), 0);
	assert_int_equal(type, wanted);
	free(text);
	return back;
}

static void messages_are_checked(void **state)
{
	static const char *const wrong[] = {
	    "",
	    "no json",
	    "[1]",
	    "{}",
	    "{\"protocol\":8}",
	    "{\"protocol\":8,\"type\":\"nonsense\"}",
	    "{\"protocol\":8,\"type\":7}",
	    "{\"protocol\":\"8\",\"type\":\"go\"}",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct failure failure = {0};
		assert_int_equal(text_parse(wrong[i], &failure), -1);
		assert_true(failure.set);
	}
	struct failure failure = {0};
	assert_int_equal(text_parse("{\"protocol\":7,\"type\":\"go\"}", &failure), -1);
	assert_non_null(strstr(failure.text, "protocol version 7"));
}

static void request_round_trip(void **state)
{
	struct failure failure = {0};
	struct request sent = {.streams = 8,
			       .window_bytes = 46000000,
			       .window_exact = true,
			       .bytes = UINT64_C(859000000000),
			       .duration_ns = UINT64_C(1037000000000),
			       .receive = RECEIVE_VERIFY,
			       .payload_seed = 4711,
			       .block_bytes = 250544};
	struct request got;
	cJSON *message = round_trip(request_encode(&sent), MESSAGE_REQUEST);
	assert_int_equal(request_decode(message, &got, &failure), 0);
	cJSON_Delete(message);
	assert_int_equal(got.streams, sent.streams);
	assert_int_equal(got.window_bytes, sent.window_bytes);
	assert_true(got.window_exact);
	assert_int_equal(got.bytes, sent.bytes);
	assert_int_equal(got.duration_ns, sent.duration_ns);
	assert_int_equal(got.receive, sent.receive);
	assert_int_equal(got.payload_seed, sent.payload_seed);
	assert_int_equal(got.block_bytes, sent.block_bytes);
}

static void request_is_checked(void **state)
{
	static const char *const wrong[] = {
	    "{\"streams\":0,\"window_bytes\":0,\"bytes\":1,\"duration_ns\":0,\"receive\":"
	    "\"discard\"}",
	    "{\"streams\":129,\"window_bytes\":0,\"bytes\":1e9,\"duration_ns\":0,\"receive\":"
	    "\"discard\"}",
	    "{\"streams\":1.5,\"window_bytes\":0,\"bytes\":1,\"duration_ns\":0,\"receive\":"
	    "\"discard\"}",
	    "{\"streams\":1,\"window_bytes\":-1,\"bytes\":1,\"duration_ns\":0,\"receive\":"
	    "\"discard\"}",
	    "{\"streams\":1,\"window_bytes\":2e9,\"bytes\":1,\"duration_ns\":0,\"receive\":"
	    "\"discard\"}",
	    "{\"streams\":1,\"window_bytes\":0,\"bytes\":1e300,\"duration_ns\":0,\"receive\":"
	    "\"discard\"}",
	    "{\"streams\":1,\"window_bytes\":0,\"bytes\":0,\"duration_ns\":0,\"receive\":"
	    "\"discard\"}",
	    "{\"streams\":4,\"window_bytes\":0,\"bytes\":3,\"duration_ns\":0,\"receive\":"
	    "\"discard\"}",
	    "{\"streams\":1,\"window_bytes\":0,\"bytes\":1,\"duration_ns\":0,\"receive\":"
	    "\"elsewhere\"}",
	    "{\"streams\":1,\"window_bytes\":0,\"bytes\":1,\"duration_ns\":0}",
	    "{\"streams\":1,\"window_bytes\":0,\"bytes\":1e6,\"duration_ns\":0,\"receive\":"
	    "\"verify\",\"payload_seed\":1}",
	    "{\"streams\":1,\"window_bytes\":0,\"bytes\":1e6,\"duration_ns\":0,\"receive\":"
	    "\"verify\",\"payload_seed\":1,\"block_bytes\":131071}",
	    "{\"streams\":1,\"window_bytes\":0,\"bytes\":1e6,\"duration_ns\":0,\"receive\":"
	    "\"verify\",\"payload_seed\":1,\"block_bytes\":262145}",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct failure failure = {0};
		struct request request;
		cJSON *message = cJSON_Parse(wrong[i]);
		assert_non_null(message);
		assert_int_equal(request_decode(message, &request, &failure), -1);
		assert_non_null(strstr(failure.text, "kind must be"));
		failure.set = false;
		json_add_text(message, "kind", "memory");
		assert_int_equal(request_decode(message, &request, &failure), -1);
		assert_null(strstr(failure.text, "kind must be"));
		cJSON_Delete(message);
	}
}

static void grant_round_trip(void **state)
{
	struct failure failure = {0};
	struct grant sent = {
	    .data_port = 40000, .session = 7, .rcvbuf_bytes = 92000000, .has_token = true};
	struct grant got;
	memset(sent.token, 0xa5, sizeof(sent.token));
	cJSON *message = round_trip(grant_encode(&sent), MESSAGE_GRANT);
	assert_int_equal(grant_decode(message, &got, &failure), 0);
	assert_int_equal(got.data_port, 40000);
	assert_int_equal(got.session, 7);
	assert_int_equal(got.rcvbuf_bytes, 92000000);
	assert_true(got.has_token);
	assert_memory_equal(got.token, sent.token, SECRET_BYTES);
	(void)cJSON_ReplaceItemInObject(message, "token", cJSON_CreateString("zz"));
	assert_int_equal(grant_decode(message, &got, &failure), -1);
	cJSON_Delete(message);
	/* With a key there is none, and nothing of it travels. */
	sent.has_token = false;
	sent.data_port = 0;
	message = round_trip(grant_encode(&sent), MESSAGE_GRANT);
	assert_false(cJSON_HasObjectItem(message, "token"));
	assert_false(cJSON_HasObjectItem(message, "data_port"));
	failure.set = false;
	assert_int_equal(grant_decode(message, &got, &failure), 0);
	assert_false(got.has_token);
	cJSON_Delete(message);
}

static void error_text_is_safe_for_terminals(void **state)
{
	char text[16];
	cJSON *message =
	    round_trip(error_encode("a\x1b[31m\nb, and much more than fits"), MESSAGE_ERROR);
	error_decode(message, text, sizeof(text));
	assert_string_equal(text, "a?[31m?b, and m");
	cJSON_Delete(message);
}

static void result_round_trip(void **state)
{
	struct failure failure = {0};
	struct receiver_report sent = {.complete = true,
				       .start_unix_ns = UINT64_C(1088121600123456000),
				       .duration_ns = UINT64_C(1037000000000),
				       .bytes = UINT64_C(859000000001),
				       .rcvbuf_bytes = 92000000,
				       .packets_received = 96000000,
				       .cpu = {.user_ns = 1, .system_ns = 2},
				       .streams = 2};
	struct receiver_report got;
	struct tcp_info info = {.raw = {.segs_in = 7}, .length = sizeof(info.raw)};
	for (unsigned i = 0; i < 2; i++) {
		sent.stream[i] = (struct stream_report){
		    .bytes = 10 + i, .first_ns = 5, .last_ns = 9, .tcp_info = tcp_info_json(&info)};
	}
	cJSON *message = round_trip(receiver_report_encode(&sent), MESSAGE_RESULT);
	assert_int_equal(receiver_report_decode(message, 2, &got, &failure), 0);
	assert_true(got.complete);
	assert_int_equal(got.start_unix_ns, sent.start_unix_ns);
	assert_int_equal(got.bytes, sent.bytes);
	assert_int_equal(got.stream[1].bytes, 11);
	uint64_t segs;
	assert_true(json_get_u64(got.stream[0].tcp_info, "segs_in", 0, 9, &segs));
	assert_int_equal(segs, 7);
	receiver_report_clear(&got);
	/* Another number of streams than were asked for must not get through. */
	assert_int_equal(receiver_report_decode(message, 3, &got, &failure), -1);
	cJSON_Delete(message);
	receiver_report_clear(&sent);
}

static void integers_are_printed_exactly(void **state)
{
	cJSON *object = cJSON_CreateObject();
	json_add_u64(object, "ns", UINT64_C(1088121600123456789));
	json_add_seconds(object, "s", UINT64_C(1037000000001));
	char *text = json_print(object);
	assert_string_equal(text, "{\"ns\":1088121600123456789,\"s\":1037.000000001}");
	free(text);
	cJSON_Delete(object);
}

/* Whatever stands before and behind them: strings with numbers and quotes, exponents, words. */
static void integers_are_read_exactly(void **state)
{
	static const char text[] =
	    "{\"1\":\"2\\\"3\",\"a\":[18446744073709551615,true,-7,1.5,null,1795658293815078901],"
	    "\"b\":{\"c\":9007199254740993,\"d\":9007199254740992},\"e\":\"\\\\\",\"f\":"
	    "1000000000000000001,\"g\":5910561830207613,\"h\":999999999999999}";
	uint64_t value = 0;
	cJSON *read = json_parse(text, strlen(text));
	char *back = json_print(read);
	assert_string_equal(back, text);
	free(back);
	assert_true(json_get_u64(read, "g", 0, JSON_INTEGER_MAX, &value));
	assert_int_equal(value, UINT64_C(5910561830207613));
	assert_false(json_get_u64(read, "f", 0, UINT64_MAX, &value)); /* no double has it */
	cJSON_Delete(read);
	assert_null(json_parse("[1,", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(messages_are_checked),
	    cmocka_unit_test(request_round_trip),
	    cmocka_unit_test(request_is_checked),
	    cmocka_unit_test(grant_round_trip),
	    cmocka_unit_test(error_text_is_safe_for_terminals),
	    cmocka_unit_test(result_round_trip),
	    cmocka_unit_test(integers_are_printed_exactly),
	    cmocka_unit_test(integers_are_read_exactly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
