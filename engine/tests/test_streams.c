/* Readers count what they read within the time, end with it, and see when nothing moves. */
#include "base/clock.h"
#include "check.h"
#include "connection.h"
#include "net/net.h"
#include "transfer/stall.h"
#include "transfer/streams.h"

#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS   20000
#define WAITING_BYTES 100000
#define READ_BYTES    65536 /* of a reader with a time limit, at first */

/* Until nobody reads any more. */
static void *flood(void *peer)
{
	static const char bytes[1 << 16];
	while (send(*(int *)peer, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0)
		continue;
	return NULL;
}

static void event_wait(const struct streams *set)
{
	struct pollfd event = {.fd = streams_event_fd(set), .events = POLLIN};
	assert_int_equal(poll(&event, 1, PATIENCE_MS), 1);
	streams_acknowledge((struct streams *)set);
}

static void finish_wait(const struct streams *set)
{
	while (!streams_all_finished(set))
		event_wait(set);
}

static void readers_end_with_the_time(void **state)
{
	int peer;
	int unread;
	pthread_t thread;
	struct failure failure = {0};
	struct stream_view view;
	struct tcp_info info;
	struct tcp_info after;
	const struct receiving receiving = {.mode = RECEIVE_MEMORY, .duration_ns = 200 * NS_PER_MS};
	struct streams *set = streams_create(1, &failure);
	assert_non_null(set);
	int fd = connected(&peer);
	streams_adopt(set, 0, fd);
	assert_int_equal(pthread_create(&thread, NULL, flood, &peer), 0);
	assert_int_equal(streams_receive(set, &receiving, &failure), 0);
	event_wait(set); /* the first byte */
	assert_false(streams_all_finished(set));
	/* The sender goes on, and nothing is shut down. */
	finish_wait(set);
	streams_look(set, 0, &view);
	assert_true(view.bytes > 0);
	assert_true(view.timed_out);
	assert_int_equal(streams_end_ns(set) - view.first_ns, 200 * NS_PER_MS);
	/* All that left the socket counts, but for the one read that came too late. */
	do {
		assert_true(tcp_info_read(fd, &info));
		assert_int_equal(ioctl(fd, FIONREAD, &unread), 0);
		assert_true(tcp_info_read(fd, &after));
	} while (after.raw.bytes_received != info.raw.bytes_received);
	uint64_t left = info.raw.bytes_received - (uint64_t)unread;
	uint64_t most = view.bytes / 4096 > READ_BYTES ? view.bytes / 4096 : READ_BYTES;
	assert_in_range(left, view.bytes, view.bytes + most + 1);
	streams_stop(set);
	streams_join(set);
	streams_destroy(set);
	(void)pthread_join(thread, NULL);
	(void)close(peer);
}

/* The sender goes on for ever: a reader that is called off takes what is there, and no more. */
static void a_flood_does_not_keep_a_reader(void **state)
{
	int peer;
	pthread_t thread;
	struct failure failure = {0};
	const struct receiving receiving = {.mode = RECEIVE_DISCARD};
	struct streams *set = streams_create(1, &failure);
	assert_non_null(set);
	streams_adopt(set, 0, connected(&peer));
	assert_int_equal(pthread_create(&thread, NULL, flood, &peer), 0);
	assert_int_equal(streams_receive(set, &receiving, &failure), 0);
	event_wait(set); /* the first byte */
	streams_stop(set);
	finish_wait(set);
	streams_join(set);
	streams_destroy(set);
	(void)pthread_join(thread, NULL);
	(void)close(peer);
}

/* One end of a connection in whose other end `count` bytes wait to be read. */
static int filled(const void *bytes, size_t count, int *peer)
{
	int there = 0;
	int fd = connected(peer);
	assert_int_equal(send(*peer, bytes, count, MSG_NOSIGNAL), count);
	while (there < (int)count)
		assert_int_equal(ioctl(fd, FIONREAD, &there), 0);
	return fd;
}

/* What lies in the socket when the time is up has come, but it was not read. */
static void what_is_read_too_late_does_not_count(void **state)
{
	int peer;
	int there = 0;
	static const char bytes[WAITING_BYTES];
	struct failure failure = {0};
	struct stream_view view;
	const struct receiving receiving = {.mode = RECEIVE_MEMORY, .duration_ns = 1};
	struct streams *set = streams_create(1, &failure);
	assert_non_null(set);
	int fd = filled(bytes, sizeof(bytes), &peer);
	streams_adopt(set, 0, fd);
	assert_int_equal(streams_receive(set, &receiving, &failure), 0);
	finish_wait(set);
	streams_look(set, 0, &view);
	assert_int_equal(view.bytes, READ_BYTES); /* that read began the time */
	assert_int_equal(view.early_bytes, READ_BYTES);
	assert_true(view.timed_out);
	assert_int_equal(ioctl(fd, FIONREAD, &there), 0);
	assert_int_equal(there, 0);
	streams_stop(set);
	streams_join(set);
	streams_destroy(set);
	(void)close(peer);
}

/* What had come when the clock began took no time of it, on whichever stream it waits. */
static void what_came_before_the_clock_is_early(void **state)
{
	int peer[2];
	static const char bytes[WAITING_BYTES];
	struct failure failure = {0};
	struct stream_view view;
	const struct receiving receiving = {.mode = RECEIVE_MEMORY, .bytes = 4 * WAITING_BYTES};
	struct streams *set = streams_create(2, &failure);
	assert_non_null(set);
	for (unsigned i = 0; i < 2; i++)
		streams_adopt(set, i, filled(bytes, sizeof(bytes), &peer[i]));
	assert_int_equal(streams_arrived(set), 2 * WAITING_BYTES);
	assert_int_equal(streams_receive(set, &receiving, &failure), 0);
	for (unsigned i = 0; i < 2; i++) {
		do
			streams_look(set, i, &view);
		while (view.bytes < WAITING_BYTES);
	}
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(send(peer[i], bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
	finish_wait(set);
	for (unsigned i = 0; i < 2; i++) {
		streams_look(set, i, &view);
		assert_int_equal(view.bytes, 2 * WAITING_BYTES);
		assert_int_equal(view.early_bytes, WAITING_BYTES);
	}
	assert_int_equal(streams_early_bytes(set), 2 * WAITING_BYTES);
	streams_stop(set);
	streams_join(set);
	streams_destroy(set);
	for (unsigned i = 0; i < 2; i++)
		(void)close(peer[i]);
}

static void the_warm_up_ends_between_two_reads(void **state)
{
	int peer;
	static const char bytes[WAITING_BYTES];
	struct failure failure = {0};
	struct stream_view view;
	const struct receiving receiving = {
	    .mode = RECEIVE_MEMORY, .bytes = WAITING_BYTES, .omit_ns = 1};
	struct streams *set = streams_create(1, &failure);
	assert_non_null(set);
	streams_adopt(set, 0, filled(bytes, sizeof(bytes), &peer));
	assert_int_equal(streams_receive(set, &receiving, &failure), 0);
	finish_wait(set);
	streams_look(set, 0, &view);
	assert_int_equal(view.bytes, WAITING_BYTES);
	assert_int_equal(view.warm_bytes, READ_BYTES);
	assert_int_equal(view.early_bytes, WAITING_BYTES - READ_BYTES);
	assert_false(view.timed_out);
	assert_int_equal(streams_begin_ns(set), streams_first_ns(set) + 1);
	streams_stop(set);
	streams_join(set);
	streams_destroy(set);
	(void)close(peer);
}

static void what_moves_is_seen_even_unread(void **state)
{
	int peer;
	static const char bytes[WAITING_BYTES];
	struct failure failure = {0};
	struct streams *set = streams_create(1, &failure);
	assert_non_null(set);
	int fd = connected(&peer);
	streams_adopt(set, 0, fd);
	uint64_t before = streams_moved(set);
	int there = 0;
	assert_int_equal(send(peer, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
	while (there < (int)sizeof(bytes))
		assert_int_equal(ioctl(fd, FIONREAD, &there), 0);
	assert_int_equal(streams_moved(set) - before, sizeof(bytes));
	streams_destroy(set);
	(void)close(peer);
}

static void a_stall_is_the_limit_without_a_change(void **state)
{
	struct stall stall;
	stall_start(&stall, 1000, 7, 5000);
	assert_int_equal(stall_look_ns(&stall, 5000), 5250);
	assert_false(stall_look(&stall, 7, 5999));
	assert_false(stall_look(&stall, 8, 6000));
	assert_false(stall_look(&stall, 8, 6999));
	assert_true(stall_look(&stall, 8, 7000));
	assert_false(stall_look(&stall, 9, 9000));
	stall_excuse(&stall, 9999);
	assert_false(stall_look(&stall, 9, 10998));
	assert_true(stall_look(&stall, 9, 10999));
}

static void a_stall_may_be_less_than_a_rate(void **state)
{
	struct stall stall;
	stall_start(&stall, 2000000000, 100, 0);
	stall_demand(&stall, 80); /* 20 bytes within the limit */
	assert_false(stall_look(&stall, 119, 1999999999));
	assert_true(stall_look(&stall, 119, 2000000000));
	assert_false(stall_look(&stall, 120, 2000000000));
	assert_true(stall_look(&stall, 139, 4000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(readers_end_with_the_time),
	    cmocka_unit_test(a_flood_does_not_keep_a_reader),
	    cmocka_unit_test(what_is_read_too_late_does_not_count),
	    cmocka_unit_test(what_came_before_the_clock_is_early),
	    cmocka_unit_test(the_warm_up_ends_between_two_reads),
	    cmocka_unit_test(what_moves_is_seen_even_unread),
	    cmocka_unit_test(a_stall_is_the_limit_without_a_change),
	    cmocka_unit_test(a_stall_may_be_less_than_a_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
