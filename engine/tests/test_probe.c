#include "check.h"
#include "probe/datagram.h"
#include "probe/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void quantiles_are_right_within_a_ten_thousandth(void **state)
{
	struct histogram *histogram = histogram_create();
	assert_non_null(histogram);
	assert_int_equal(histogram_quantile(histogram, 0.5), 0);
	/* From a nanosecond to minutes. */
	for (uint64_t value = 1; value < UINT64_C(1) << 39; value = value * 21 / 20 + 1) {
		struct histogram *one = histogram_create();
		histogram_add(one, value - 1);
		histogram_add(one, value);
		histogram_add(one, value + value / 1000);
		uint64_t middle = histogram_quantile(one, 0.5);
		uint64_t error = middle > value ? middle - value : value - middle;
		assert_true(error * 10000 <= value);
		histogram_add(histogram, value);
		histogram_destroy(one);
	}
	histogram_destroy(histogram);
}

static void quantiles_count(void **state)
{
	struct histogram *histogram = histogram_create();
	struct histogram *other = histogram_create();
	for (uint64_t i = 1; i <= 1000; i++)
		histogram_add(i <= 500 ? histogram : other, i);
	histogram_merge(histogram, other);
	assert_int_equal(histogram_count(histogram), 1000);
	assert_int_equal(histogram_quantile(histogram, 0.5), 500);
	assert_int_equal(histogram_quantile(histogram, 0.99), 990);
	assert_int_equal(histogram_quantile(histogram, 1.0), 1000);
	cJSON *object = histogram_json(histogram);
	char *text = json_print(object);
	assert_non_null(strstr(text, "\"count\":1000"));
	assert_non_null(strstr(text, "\"mean_s\":0.000000501")); /* 500.5, rounded */
	assert_non_null(strstr(text, "\"deviation_s\":0.000000289"));
	assert_non_null(strstr(text, "\"min_s\":0.000000001"));
	assert_non_null(strstr(text, "\"max_s\":0.000001000"));
	free(text);
	cJSON_Delete(object);
	histogram_destroy(histogram);
	histogram_destroy(other);
}

static void a_time_of_hours_counts_as_the_greatest(void **state)
{
	struct histogram *histogram = histogram_create();
	histogram_add(histogram, UINT64_MAX);
	assert_int_equal(histogram_quantile(histogram, 0.5), (UINT64_C(1) << 40) - 1);
	histogram_destroy(histogram);
}

static void datagrams_are_of_a_session(void **state)
{
	uint8_t secret[SECRET_BYTES] = {7};
	uint8_t other[SECRET_BYTES] = {8};
	uint8_t bytes[DATAGRAM_HEAD_BYTES];
	const struct datagram sent = {.number = 4711, .sent_ns = UINT64_C(1088121600123456789)};
	struct datagram got;
	datagram_encode(&sent, secret, bytes);
	assert_true(datagram_decode(bytes, sizeof(bytes), secret, &got));
	assert_int_equal(got.number, sent.number);
	assert_int_equal(got.sent_ns, sent.sent_ns);
	assert_false(datagram_decode(bytes, sizeof(bytes), other, &got));
	assert_false(datagram_decode(bytes, sizeof(bytes) - 1, secret, &got));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] ^= 1;
		assert_false(datagram_decode(bytes, sizeof(bytes), secret, &got));
		bytes[i] ^= 1;
	}
}

static void take(struct arrivals *arrivals, uint64_t number, uint64_t sent_ns, uint64_t came_ns)
{
	const struct datagram datagram = {.number = number, .sent_ns = sent_ns};
	arrivals_take(arrivals, &datagram, came_ns);
}

static void arrivals_are_counted(void **state)
{
	static const uint64_t order[] = {0, 1, 3, 2, 2, 5, 9, 4, 9};
	struct arrivals *arrivals = calloc(1, sizeof(*arrivals));
	assert_non_null(arrivals);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		take(arrivals, order[i], 0, 0);
	assert_int_equal(arrivals->received, 7);   /* 0 1 2 3 4 5 9 */
	assert_int_equal(arrivals->duplicates, 2); /* 2 9 */
	assert_int_equal(arrivals->reordered, 2);  /* 2 4 */
	assert_int_equal(arrivals->late, 0);
	assert_int_equal(arrivals->next, 10);
	/* Far ahead, and then what is behind the window: counted, and whether twice is not known.
	 */
	take(arrivals, 3 * ARRIVALS_WINDOW, 0, 0);
	take(arrivals, 6, 0, 0);
	take(arrivals, 2 * ARRIVALS_WINDOW + 1, 0, 0);
	assert_int_equal(arrivals->received, 10);
	assert_int_equal(arrivals->late, 1);
	assert_int_equal(arrivals->reordered, 4);
	assert_int_equal(arrivals->duplicates, 2);
	free(arrivals);
}

static void jitter_is_as_the_rfc_has_it(void **state)
{
	static const uint64_t transits[] = {1000, 1160, 1000, 1000, 1320};
	struct arrivals *arrivals = calloc(1, sizeof(*arrivals));
	double wanted = 0;
	for (size_t i = 0; i < sizeof(transits) / sizeof(transits[0]); i++) {
		take(arrivals, i, 1000000 * i, 1000000 * i + transits[i]);
		if (i != 0)
			wanted +=
			    (fabs((double)transits[i] - (double)transits[i - 1]) - wanted) / 16;
	}
	assert_true(fabs(arrivals->jitter_ns - wanted) < 1e-9);
	assert_true(wanted > 0);
	free(arrivals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(quantiles_are_right_within_a_ten_thousandth),
	    cmocka_unit_test(quantiles_count),
	    cmocka_unit_test(a_time_of_hours_counts_as_the_greatest),
	    cmocka_unit_test(datagrams_are_of_a_session),
	    cmocka_unit_test(arrivals_are_counted),
	    cmocka_unit_test(jitter_is_as_the_rfc_has_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
