// Reads every socket of some namespaces, and the counters of links, at an interval, until SIGTERM.
//
// landspeed-sockwatch INTERVAL_NS DOUBLE_AFTER BEGIN_NS FOLDER NETNS... -- LINK...
//
// After so many samples the interval doubles, again and again, so that a long run costs little more
// than a short one; 0: never. The first sample is at BEGIN_NS of CLOCK_MONOTONIC, from which times
// count. FOLDER gets sockets.csv, owners.csv (both: sockets.h) and links.csv (links.h, which also
// says what a LINK is).
//
// It must not be noticed. It never reads the clock, which takes virtual time (256 ns); it knows
// what time it is from how long it asked to sleep. It makes no system call that fails while it
// samples, for each of those takes 1 us (UML's handle_syscall()). And it is a real-time task: it
// has its turn before all that the scheduler shares time between, and is not counted there.
#include "links.h"
#include "sockets.h"
#include "watch.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { FLUSH_SAMPLES = 64, PATH_BYTES = 4096, LEAST_WORDS = 7 };

static struct {
	FILE *sockets, *owners, *links;
} out;

static FILE *file_open(const char *folder, const char *name, const char *header)
{
	char path[PATH_BYTES];
	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		die(folder);
	}
	FILE *file = fopen(path, "we");
	if (file == NULL || fputs(header, file) < 0)
		die(path);
	return file;
}

static void sample_write(unsigned number, uint64_t time_ns)
{
	sockets_write(out.sockets, out.owners, time_ns);
	links_read(number);
	links_write(out.links, time_ns);
	if (number % FLUSH_SAMPLES == 1 &&
	    (fflush(out.sockets) != 0 || fflush(out.owners) != 0 || fflush(out.links) != 0))
		die("writing");
}

static void usage_say(void)
{
	fputs("usage: landspeed-sockwatch INTERVAL_NS DOUBLE_AFTER BEGIN_NS FOLDER NETNS... -- "
	      "LINK...\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--nothing") == 0)
		return 0; // a run that is not sampled starts as many processes as one that is
	if (argc < LEAST_WORDS)
		usage_say();
	uint64_t interval_ns = interval_read(argv[1]);
	unsigned long double_after = strtoul(argv[2], NULL, 10);
	uint64_t begin_ns = interval_read(argv[3]), time_ns = 0;
	int word = 5;
	while (word < argc && strcmp(argv[word], "--") != 0)
		sockets_add(argv[word++]);
	if (word == argc)
		usage_say();
	while (++word < argc)
		links_add(argv[word]);
	out.sockets = file_open(argv[4], "sockets.csv", SOCKETS_HEADER);
	out.owners = file_open(argv[4], "owners.csv", OWNERS_HEADER);
	out.links = file_open(argv[4], "links.csv", LINKS_HEADER);
	const struct sched_param first = {.sched_priority = 1};
	if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
		die("scheduler");
	stop_on_signals();
	struct timespec next = {0};
	timespec_add(&next, begin_ns);
	sleep_until(&next);
	for (unsigned number = 1; !is_stopped(); number++) {
		sample_write(number, time_ns);
		if (double_after != 0 && number % double_after == 0)
			interval_ns *= 2;
		time_ns += interval_ns;
		timespec_add(&next, interval_ns);
		sleep_until(&next);
	}
	// What ended since. The time is that of the sample that is not made any more.
	sample_write(0, time_ns);
	sockets_finish(out.owners);
	if (fclose(out.sockets) != 0 || fclose(out.owners) != 0 || fclose(out.links) != 0)
		die("writing");
	return 0;
}
