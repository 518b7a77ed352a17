// Reads the counters of every link's qdisc at an interval and writes them as CSV, until SIGTERM.
//
// landspeed-linkwatch INTERVAL_NS FILE LINK,DIRECTION,NETNS,IFINDEX[,NETNS,IFINDEX,LINE]...
//
// The last three name one of the lines of a netem that is several (kernel patch 0014): what has
// left that line counts, too.
// One netlink dump a namespace and interval: in the guest a system call costs tens of microseconds,
// so nothing is asked device by device. Columns: links.h, with times of CLOCK_REALTIME.
#include "links.h"
#include "watch.h"

static void sample_write(FILE *out, unsigned sequence)
{
	links_read(sequence);
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		die("clock");
	links_write(out, (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec);
	if (fflush(out) != 0) // a run that is killed keeps what was seen
		die("writing");
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fputs("usage: landspeed-linkwatch INTERVAL_NS FILE "
		      "LINK,DIRECTION,NETNS,IFINDEX[,NETNS,IFINDEX,LINE]...\n",
		      stderr);
		return 2;
	}
	uint64_t interval_ns = interval_read(argv[1]);
	FILE *out = fopen(argv[2], "we");
	if (out == NULL)
		die(argv[2]);
	for (int i = 3; i < argc; i++)
		links_add(argv[i]);
	stop_on_signals();
	fputs(LINKS_HEADER, out);
	struct timespec next = next_whole(interval_ns);
	sleep_until(&next);
	for (unsigned sequence = 1; !is_stopped(); sequence++) {
		sample_write(out, sequence);
		timespec_add(&next, interval_ns);
		sleep_until(&next);
	}
	sample_write(out, 0);
	if (fclose(out) != 0)
		die(argv[2]);
	return 0;
}
