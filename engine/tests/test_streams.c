/* Readers end when the time is up, not when their sockets' locks can be had. */
#include "check.h"
#include "connection.h"
#include "net.h"
#include "streams.h"

#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 20000

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

static void readers_end_with_the_time(void **state)
{
	(void)state;
	int peer;
	pthread_t thread;
	struct failure failure = {0};
	struct stream_view view;
	const struct receiving receiving = {.mode = RECEIVE_MEMORY};
	struct streams *set = streams_create(1, &failure);
	assert_non_null(set);
	streams_adopt(set, 0, connected(&peer));
	assert_int_equal(pthread_create(&thread, NULL, flood, &peer), 0);
	assert_int_equal(streams_receive(set, &receiving, &failure), 0);
	event_wait(set); /* the first byte */
	assert_false(streams_all_finished(set));
	/* The sender goes on, and nothing is shut down. */
	streams_cut(set);
	while (!streams_all_finished(set))
		event_wait(set);
	streams_look(set, 0, &view);
	assert_true(view.bytes > 0);
	streams_stop(set);
	streams_join(set);
	streams_destroy(set);
	(void)pthread_join(thread, NULL);
	(void)close(peer);
}

/* Sleeping until a low-water mark or waiting for the processor, they had it in time. */
static void what_had_come_counts(void **state)
{
	(void)state;
	int peer;
	static const char bytes[100000];
	struct failure failure = {0};
	struct stream_view view;
	const struct receiving receiving = {.mode = RECEIVE_MEMORY};
	struct streams *set = streams_create(1, &failure);
	assert_non_null(set);
	int fd = connected(&peer);
	int there = 0;
	streams_adopt(set, 0, fd);
	assert_int_equal(send(peer, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
	while (there < (int)sizeof(bytes))
		assert_int_equal(ioctl(fd, FIONREAD, &there), 0);
	streams_cut(set);
	assert_int_equal(streams_receive(set, &receiving, &failure), 0);
	while (!streams_all_finished(set))
		event_wait(set);
	streams_look(set, 0, &view);
	assert_int_equal(view.bytes, sizeof(bytes));
	streams_stop(set);
	streams_join(set);
	streams_destroy(set);
	(void)close(peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(readers_end_with_the_time),
	    cmocka_unit_test(what_had_come_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
