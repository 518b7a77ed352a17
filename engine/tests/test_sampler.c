/* Who reads TCP_INFO: the sampler, or the stream's own thread when the socket's lock is taken. */
#include "base/clock.h"
#include "check.h"
#include "connection.h"
#include "control/hello.h"
#include "net/net.h"
#include "net/tcpinfo.h"
#include "telemetry/sampler.h"
#include "telemetry/stream_monitor.h"
#include "transfer/stream.h"

/* Not netinet/tcp.h: its struct tcp_info is not ours. */
#define TCP_CC_INFO 26

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define INTERVAL_NS (10 * NS_PER_MS)

/* The linker's --wrap: locks that are taken cannot be had to order. */
int __wrap_getrusage(int who, struct rusage *usage);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *length);

static _Atomic bool locks_taken;
static _Atomic unsigned passes; /* two for each round of the sampler */
static _Atomic unsigned reads_by_streams;
static _Atomic unsigned reads_by_others;
static _Atomic bool blocked;
static _Thread_local bool in_stream;

int __wrap_getrusage(int who, struct rusage *usage)
{
	static long sleeps;
	assert_int_equal(who, RUSAGE_THREAD);
	(void)atomic_fetch_add(&passes, 1);
	sleeps += atomic_load(&locks_taken) ? 1 : 0;
	usage->ru_nvcsw = sleeps;
	return 0;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	if (level == IPPROTO_TCP && name != TCP_CC_INFO)
		(void)atomic_fetch_add(in_stream ? &reads_by_streams : &reads_by_others, 1);
	return __real_getsockopt(fd, level, name, value, length);
}

static void nap(uint64_t ns)
{
	struct timespec time = clock_timespec(ns);
	(void)nanosleep(&time, NULL);
}

/* Calls without end, but while it is blocked. */
static int calls_make(struct stream *stream, void *context)
{
	(void)context;
	in_stream = true;
	while (!stream_stopping(stream)) {
		if (!atomic_load(&blocked))
			stream_count_call(stream);
		nap(NS_PER_MS / 5);
	}
	return 0;
}

static struct streams *stream_open(int *peer)
{
	struct failure failure = {0};
	struct streams *streams = streams_create(1, &failure);
	assert_non_null(streams);
	streams_adopt(streams, 0, connected(peer));
	assert_int_equal(streams_work(streams, true, calls_make, NULL, &failure), 0);
	return streams;
}

static void until(const _Atomic unsigned *counter, unsigned count)
{
	while (atomic_load(counter) < count)
		nap(NS_PER_MS);
}

static void a_stream_answers_between_its_calls(void **state)
{
	int peer;
	atomic_store(&blocked, true);
	struct streams *streams = stream_open(&peer);
	const struct stream_answer *answer = streams_answer(streams, 0);
	assert_non_null(answer);
	assert_int_equal(answer->time_ns, 0);
	uint64_t asked_ns = clock_monotonic_ns();
	streams_ask(streams, 0, 0);
	nap(5 * NS_PER_MS);
	assert_null(streams_answer(streams, 0));
	atomic_store(&blocked, false);
	while ((answer = streams_answer(streams, 0)) == NULL)
		nap(NS_PER_MS);
	assert_in_range(answer->time_ns, asked_ns + 5 * NS_PER_MS, clock_monotonic_ns());
	assert_int_equal(answer->info.raw.state, 1); /* TCP_ESTABLISHED */
	/* Once: calls that nobody asked about read nothing. */
	unsigned reads = atomic_load(&reads_by_streams);
	uint64_t calls = streams_calls(streams, 0);
	while (streams_calls(streams, 0) < calls + 10)
		nap(NS_PER_MS);
	assert_int_equal(atomic_load(&reads_by_streams), reads);
	streams_destroy(streams);
	(void)close(peer);
}

struct told {
	uint64_t time_ns;
	uint64_t state;
};

static unsigned rows_read(const char *path, struct told *rows, unsigned room)
{
	FILE *file = fopen(path, "r");
	char line[4096];
	unsigned count = 0;
	unsigned long long time_ns;
	unsigned long long bytes;
	unsigned stream;
	unsigned tcp_state;
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	while (count < room && fgets(line, sizeof(line), file) != NULL) {
		assert_int_equal(
		    sscanf(line, "%llu,%u,%llu,%u,", &time_ns, &stream, &bytes, &tcp_state), 4);
		rows[count++] = (struct told){.time_ns = time_ns, .state = tcp_state};
	}
	(void)fclose(file);
	return count;
}

/* Locks are free, then taken, then the stream's thread makes no calls for a while. */
static void rows_come_whoever_reads(void **state)
{
	static struct told rows[4096];
	char path[] = "/tmp/landspeed-sampler-XXXXXX";
	struct failure failure = {0};
	int peer;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)close(fd);
	atomic_store(&blocked, false);
	atomic_store(&locks_taken, false);
	struct streams *streams = stream_open(&peer);
	struct samples *samples = samples_open(path, SAMPLES_TCP_INFO, &failure);
	const struct sampler_plan plan = {
	    .streams = streams, .side = TUNE_SEND, .interval_ns = INTERVAL_NS, .tcp_info = samples};
	struct sampler *sampler = sampler_start(&plan, &failure);
	assert_non_null(sampler);
	unsigned by_streams = atomic_load(&reads_by_streams);
	uint64_t start_ns = clock_monotonic_ns();
	(void)gate_open(streams_gate(streams), start_ns);

	until(&reads_by_others, atomic_load(&reads_by_others) + 10);
	assert_int_equal(atomic_load(&reads_by_streams), by_streams);
	unsigned before = atomic_load(&passes);
	uint64_t taken_ns = clock_monotonic_ns() - start_ns;
	atomic_store(&locks_taken, true);
	until(&reads_by_streams, by_streams + 20);
	unsigned rounds = (atomic_load(&passes) - before) / 2;
	uint64_t blocked_ns = clock_monotonic_ns() - start_ns;
	atomic_store(&blocked, true);
	until(&reads_by_others, atomic_load(&reads_by_others) + 10);
	uint64_t again_ns = clock_monotonic_ns() - start_ns;
	atomic_store(&blocked, false);
	until(&reads_by_streams, atomic_load(&reads_by_streams) + 5);
	streams_stop(streams);
	streams_join(streams);
	sampler_stop(sampler);
	assert_null(sampler_error(sampler));
	sampler_destroy(sampler);
	assert_int_equal(samples_close(samples, &failure), 0);
	streams_destroy(streams);
	(void)close(peer);

	unsigned count = rows_read(path, rows, 4096);
	(void)unlink(path);
	unsigned phases[3] = {0};
	for (unsigned i = 0; i < count; i++) {
		uint64_t time_ns = rows[i].time_ns;
		assert_true(rows[i].state == 1 || time_ns >= again_ns); /* shut down at the end */
		if (i > 0)
			assert_true(time_ns >= rows[i - 1].time_ns + INTERVAL_NS / 4);
		phases[0] += time_ns < taken_ns ? 1 : 0;
		phases[1] += time_ns >= taken_ns && time_ns < blocked_ns ? 1 : 0;
		phases[2] += time_ns >= blocked_ns && time_ns < again_ns ? 1 : 0;
	}
	/* All but what the changes between them and a busy machine may cost. */
	/* Who answers in time spares the sampler its round. */
	assert_true(rounds < 15);
	assert_true(phases[0] >= 9);
	assert_true(phases[1] >= 10);
	assert_true(phases[2] >= 8);
}

static void state_wait(int fd, unsigned wanted)
{
	struct tcp_info info;
	do
		assert_true(tcp_info_read(fd, &info));
	while (info.raw.state != wanted);
}

/* The kernel counts the ends of a connection as a byte each, whoever looks before the thread. */
static void the_end_of_a_connection_is_no_payload(void **state)
{
	static const uint8_t bytes[HELLO_BYTES + 1000];
	const enum tune_side sides[] = {TUNE_RECEIVE, TUNE_SEND};
	for (unsigned i = 0; i < 2; i++) {
		int peer;
		bool sends = sides[i] == TUNE_SEND;
		struct failure failure = {0};
		struct streams *streams = streams_create(1, &failure);
		assert_non_null(streams);
		int fd = connected(&peer);
		streams_adopt(streams, 0, fd);
		const struct sampler_plan plan = {
		    .streams = streams, .side = sides[i], .preamble_bytes = HELLO_BYTES};
		struct stream_monitor *monitor = monitor_create(&plan);
		assert_non_null(monitor);
		monitor_start(monitor, 1);
		int writer = sends ? fd : peer;
		assert_int_equal(send(writer, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
		assert_int_equal(shutdown(writer, SHUT_WR), 0);
		state_wait(fd, sends ? TCP_STATE_FIN_WAIT2 : TCP_STATE_CLOSE_WAIT);
		monitor_sample(monitor, 1);
		assert_int_equal(monitor_look(monitor, 0)->bytes, 1000);
		monitor_destroy(monitor);
		streams_destroy(streams);
		(void)close(peer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_stream_answers_between_its_calls),
	    cmocka_unit_test(rows_come_whoever_reads),
	    cmocka_unit_test(the_end_of_a_connection_is_no_payload),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
