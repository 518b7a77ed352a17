/* How payload is handed to the kernel: the way, in which pieces, and what may not be touched
 * meanwhile. */
#include "check.h"
#include "net/packet.h"
#include "payload/inflight.h"
#include "payload/payload.h"
#include "payload/sending.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEED   42
#define STREAM 3

static void slots_in_flight_are_not_used_again(void **state)
{
	struct source source;
	struct inflight inflight;
	struct piece first;
	struct piece second;
	struct piece third;
	assert_int_equal(source_open_blocks(&source, SEED, STREAM, BLOCK_BYTES, 2), 0);
	assert_int_equal(inflight_open(&inflight, &source), 0);
	assert_true(source_next(&source, UINT64_MAX, &first));
	assert_true(source_next(&source, UINT64_MAX, &second));
	assert_false(source_next(&source, UINT64_MAX, &third));
	/* The first block took calls 0 and 1, the second call 2; their ends come out of order. */
	inflight_call(&inflight, 0, first.slot);
	inflight_call(&inflight, 1, first.slot);
	inflight_close_slot(&inflight, first.slot);
	inflight_call(&inflight, 2, second.slot);
	inflight_done(&inflight, 1);
	inflight_done(&inflight, 1);
	inflight_done(&inflight, 2);
	assert_false(source_next(&source, UINT64_MAX, &third));
	inflight_close_slot(&inflight, second.slot);
	assert_true(source_next(&source, UINT64_MAX, &third));
	assert_int_equal(third.slot, second.slot);
	assert_false(inflight_room(&inflight, 8)); /* the room of call 0 */
	inflight_done(&inflight, 0);
	assert_true(inflight_room(&inflight, 8));
	assert_true(source_next(&source, UINT64_MAX, &third));
	assert_int_equal(third.slot, first.slot);
	inflight_release(&inflight);
	source_close(&source);
}

/* 44, 45 and 7 segments of Ethernet's sizes, and what tests/engine/sessions/test_path.py sees on a
 * device.
 */
static void packets_are_whole_segments(void **state)
{
	assert_int_equal(packet_bytes(1448, 0, PACKET_PAGES_BYTES), 45 * 1448);
	assert_int_equal(packet_bytes(8948, 65536, PACKET_PAGES_BYTES), 7 * 8948);
	assert_int_equal(packet_bytes(1448, 64000, PACKET_PAGES_BYTES), 43 * 1448);
	/* BIG TCP: the device would take more than 16 pages are. */
	assert_int_equal(packet_bytes(1448, 262144, PACKET_PAGES_BYTES), 45 * 1448);
	assert_int_equal(packet_bytes(1448, 262144, BLOCK_BYTES), 180 * 1448);
	/* Nothing to choose: no size, loopback's, a device that segments nothing. */
	assert_int_equal(packet_bytes(0, 65536, PACKET_PAGES_BYTES), 0);
	assert_int_equal(packet_bytes(65483, 65536, PACKET_PAGES_BYTES), 0);
	assert_int_equal(packet_bytes(1448, 1514, PACKET_PAGES_BYTES), 0);
	assert_int_equal(packet_bytes(1448, 100, PACKET_PAGES_BYTES), 0);
}

static void blocks_are_whole_packets(void **state)
{
	assert_int_equal(block_bytes_choose(0), BLOCK_BYTES);
	assert_int_equal(block_bytes_choose(BLOCK_BYTES + 1), BLOCK_BYTES);
	assert_int_equal(block_bytes_choose(7 * 8948), 4 * 7 * 8948);
	assert_int_equal(block_bytes_choose(45 * 1448), 4 * 45 * 1448);
	for (uint32_t packet = 1; packet <= BLOCK_BYTES; packet += 977) {
		uint32_t block = block_bytes_choose(packet);
		assert_int_equal(block % packet, 0);
		assert_true(block >= BLOCK_LEAST_BYTES && block <= BLOCK_BYTES);
	}
}

static void the_way_of_sending_has_a_reason(void **state)
{
	char why[192];
	struct failure failure = {0};
	struct sending_facts facts = {.device = "eth7", .zerocopy_there = true};
	assert_int_equal(send_method_choose(&facts, why, sizeof(why)), SEND_SPLICE);
	assert_non_null(strstr(why, "sealed file"));
	facts.calls_dear = true;
	assert_int_equal(send_method_choose(&facts, why, sizeof(why)), SEND_SENDFILE);
	facts.calls_dear = false;
	facts.kernel_seals = true;
	assert_int_equal(send_method_choose(&facts, why, sizeof(why)), SEND_SENDFILE);
	assert_non_null(strstr(why, "records of its pages"));
	facts.made = true;
	assert_int_equal(send_method_choose(&facts, why, sizeof(why)), SEND_WRITE);
	assert_non_null(strstr(why, "records of what is written"));
	facts.kernel_seals = false;
	facts.made = false;
	facts.huge = true;
	assert_int_equal(send_method_choose(&facts, why, sizeof(why)), SEND_SPLICE);
	assert_non_null(strstr(why, "huge pages"));
	facts.bytes = 1000;
	assert_int_equal(send_method_choose(&facts, why, sizeof(why)), SEND_WRITE);
	facts.bytes = 0;
	facts.made = true;
	assert_int_equal(send_method_choose(&facts, why, sizeof(why)), SEND_ZEROCOPY);
	assert_non_null(strstr(why, "eth7"));
	facts.device_copies = true;
	assert_int_equal(send_method_choose(&facts, why, sizeof(why)), SEND_WRITE);
	facts.asked = SEND_URING;
	assert_int_equal(send_method_choose(&facts, why, sizeof(why)), SEND_URING);
	assert_string_equal(why, "asked for");
	assert_int_equal(send_method_check(SEND_SPLICE, true, &failure), -1);
	assert_non_null(strstr(failure.text, "use write, zerocopy or io_uring"));
	assert_int_equal(send_method_check(SEND_SPLICE, false, &failure), 0);
}

/* Whoever comes first makes it, all send zeros, and nobody changes them. */
static void senders_share_one_payload(void **state)
{
	struct failure failure = {0};
	struct payload late = {.fd = -1};
	struct stat file;
	int given = memfd_create("given", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(given >= 0);
	for (unsigned child = 0; child < 4; child++) {
		if (fork() == 0) {
			struct payload payload = {.fd = -1};
			_exit(payload_share(&payload, given, &failure) == 0 ? 0 : 1);
		}
	}
	for (unsigned child = 0; child < 4; child++) {
		int status = 1;
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(payload_share(&late, given, &failure), 0);
	assert_true(late.blank);
	assert_int_equal(fstat(given, &file), 0);
	assert_int_equal(file.st_size, PAYLOAD_BYTES);
	assert_int_equal(file.st_blocks, 0);
	assert_int_equal(pwrite(given, "x", 1, 0), -1);
	assert_int_equal(payload_map(&late, &failure), 0);
	for (size_t at = 0; at < PAYLOAD_BYTES; at++)
		assert_int_equal(late.bytes[at], 0);
	payload_close(&late);
	(void)close(given);
}

static void what_is_no_memory_file_is_refused(void **state)
{
	struct failure failure = {0};
	struct payload payload = {.fd = -1};
	int file = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(payload_share(&payload, file, &failure), -1);
	assert_non_null(strstr(failure.text, "LANDSPEED_PAYLOAD: Invalid argument"));
	assert_int_equal(payload.fd, -1);
	(void)close(file);
	assert_int_equal(payload_given(), -1);
	assert_int_equal(setenv("LANDSPEED_PAYLOAD", "17", 1), 0);
	assert_int_equal(payload_given(), 17);
	assert_int_equal(unsetenv("LANDSPEED_PAYLOAD"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(slots_in_flight_are_not_used_again),
	    cmocka_unit_test(packets_are_whole_segments),
	    cmocka_unit_test(blocks_are_whole_packets),
	    cmocka_unit_test(the_way_of_sending_has_a_reason),
	    cmocka_unit_test(senders_share_one_payload),
	    cmocka_unit_test(what_is_no_memory_file_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
