// Becomes a guest's kernel, prepared so that every run of it is equal and none outlives its parent.
//
// landspeed-launch --probe FOLDER
// landspeed-launch PARENT FOLDER HUGE_BYTES [FROM:TO...] -- PROGRAM ARGUMENT...
//
// The program dies with the process PARENT, has no randomized addresses, finds the descriptors FROM
// at the numbers TO, and, unless HUGE_BYTES is 0, sees FOLDER as a tmpfs of huge pages of that size
// (landspeed/worlds/emu/hugepages.py says why). --probe tells by its exit status whether such a
// tmpfs can be had. A program of its own, since Python may do none of this between fork and exec
// while it has other threads.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { FAILED = 1, BAD_USE = 2, MOST_MOVES = 8, PROBE_BYTES = 1 << 21 };

static int fail(const char *what)
{
	fprintf(stderr, "landspeed-launch: %s: %s\n", what, strerror(errno));
	return FAILED;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t written = write(fd, text, strlen(text));
	int broken = close(fd);
	return written == (ssize_t)strlen(text) && broken == 0 ? 0 : -1;
}

// An ordinary user may mount a tmpfs only in a user namespace of their own, in which they keep
// their numbers.
static int leave_namespaces(void)
{
	uid_t user = getuid();
	gid_t group = getgid();
	if (geteuid() == 0)
		return unshare(CLONE_NEWNS);
	if (unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0)
		return -1;
	char users[64];
	char groups[64];
	snprintf(users, sizeof users, "%u %u 1", user, user);
	snprintf(groups, sizeof groups, "%u %u 1", group, group);
	return write_file("/proc/self/setgroups", "deny") != 0 ||
		       write_file("/proc/self/uid_map", users) != 0 ||
		       write_file("/proc/self/gid_map", groups) != 0
		   ? -1
		   : 0;
}

static int mount_huge(const char *folder, unsigned long long bytes)
{
	char options[96];
	snprintf(options, sizeof options, "huge=always,mode=0700,size=%llu", bytes);
	if (leave_namespaces() != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return -1;
	return mount("landspeed", folder, "tmpfs", 0, options);
}

static int parse(const char *text, unsigned long long *value)
{
	char *end = NULL;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno == 0 && end != text && *end == '\0' ? 0 : -1;
}

struct move {
	const char *text;
	int from;
	int to;
};

// FROM:TO
static int parse_move(const char *text, struct move *move)
{
	char *between = NULL;
	char *end = NULL;
	long from = strtol(text, &between, 10);
	long to = *between == ':' ? strtol(between + 1, &end, 10) : -1;
	if (end == NULL || *end != '\0' || from < 0 || to < 0 || from > INT_MAX || to > INT_MAX) {
		errno = EINVAL;
		return -1;
	}
	*move = (struct move){text, (int)from, (int)to};
	return 0;
}

// A number to move to may be one to move from, where the caller has so many open: all are put out
// of the way first. Returns the move that failed.
static const struct move *move_descriptors(struct move *moves, int count)
{
	int above = STDERR_FILENO;
	for (int each = 0; each < count; each++)
		above = moves[each].to > above ? moves[each].to : above;
	for (struct move *each = moves; each < moves + count; each++) {
		int away = fcntl(each->from, F_DUPFD_CLOEXEC, above + 1);
		if (away < 0 || close(each->from) != 0)
			return each;
		each->from = away;
	}
	for (const struct move *each = moves; each < moves + count; each++)
		if (dup2(each->from, each->to) < 0)
			return each;
	return NULL;
}

int main(int count, char **words)
{
	if (count == 3 && strcmp(words[1], "--probe") == 0)
		return mount_huge(words[2], PROBE_BYTES) == 0 ? 0 : FAILED;
	unsigned long long parent = 0;
	unsigned long long bytes = 0;
	int next = 4;
	if (count < 6 || parse(words[1], &parent) != 0 || parse(words[3], &bytes) != 0) {
		fprintf(stderr, "usage: landspeed-launch PARENT FOLDER HUGE_BYTES [FROM:TO...] -- "
				"PROGRAM ARGUMENT...\n");
		return BAD_USE;
	}
	struct move moves[MOST_MOVES];
	int moved = 0;
	for (; next < count && strcmp(words[next], "--") != 0; next++)
		if (moved == MOST_MOVES || parse_move(words[next], &moves[moved++]) != 0)
			return fail(words[next]);
	if (next + 1 >= count)
		return BAD_USE;
	const struct move *failed = move_descriptors(moves, moved);
	if (failed != NULL)
		return fail(failed->text);
	// Before the next call: new credentials forget a parent-death signal.
	if (bytes > 0 && mount_huge(words[2], bytes) != 0)
		return fail(words[2]);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		return fail("prctl");
	if ((unsigned long long)getppid() != parent) // it died before the call above
		return FAILED;
	// The profile of a container may refuse it (worlds/emu/doctor.py tells): then the kernel's
	// own process has other addresses in each run, its guest has not.
	if (personality(ADDR_NO_RANDOMIZE) < 0 && errno != EPERM && errno != ENOSYS)
		return fail("personality");
	execv(words[next + 1], words + next + 1);
	return fail(words[next + 1]);
}
