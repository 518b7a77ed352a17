#include "server/children.h"

#include "base/exits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child does first. */
static void child_settle(pid_t parent)
{
	/* A terminal's Ctrl-C reaches the server alone, which passes it on: once, not twice. */
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
	if (getppid() != parent)
		_exit(1); /* it has died already */
}

pid_t children_fork(struct children *children, const struct address *address, int *report_fd,
		    struct failure *failure)
{
	int ends[2];
	if (children->count == CHILDREN_LIMIT)
		return failure_set(failure, "too many sessions");
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return failure_set_errno(failure, errno, "pipe");
	pid_t parent = getpid();
	(void)fflush(NULL);
	pid_t pid = fork();
	if (pid < 0) {
		(void)failure_set_errno(failure, errno, "cannot start a process");
		(void)close(ends[0]);
		(void)close(ends[1]);
		return -1;
	}
	if (pid == 0) {
		child_settle(parent);
		(void)close(ends[0]);
		*report_fd = ends[1];
		return 0;
	}
	(void)close(ends[1]);
	children->list[children->count++] =
	    (struct child){.pid = pid, .report_fd = ends[0], .address = *address};
	return pid;
}

void children_look(struct children *children)
{
	for (unsigned i = 0; i < children->count; i++) {
		char byte;
		struct child *child = &children->list[i];
		ssize_t got = read(child->report_fd, &byte, 1);
		child->leaving = child->leaving || got >= 0;
		child->gone = child->gone || got == 0;
	}
}

void children_reap(struct children *children, struct children_fates *fates)
{
	children_look(children);
	for (unsigned i = children->count; i-- > 0;) {
		int status = 0;
		struct child *child = &children->list[i];
		/* It waits at most for the rest of the exit: the pipe closes in it. */
		if (!child->gone || waitpid(child->pid, &status, 0) < 0)
			continue;
		bool broke = !WIFEXITED(status);
		fates->failed = fates->failed || broke || WEXITSTATUS(status) != 0;
		fates->cut_short =
		    fates->cut_short || broke || WEXITSTATUS(status) == EXIT_INTERRUPTED;
		(void)close(child->report_fd);
		children->list[i] = children->list[--children->count];
	}
}

unsigned children_serving(const struct children *children)
{
	unsigned count = 0;
	for (unsigned i = 0; i < children->count; i++)
		count += children->list[i].leaving ? 0 : 1;
	return count;
}

unsigned children_of_site(const struct children *children, const struct address *address)
{
	unsigned count = 0;
	for (unsigned i = 0; i < children->count; i++)
		count += net_same_site(&children->list[i].address, address) ? 1 : 0;
	return count;
}

void children_signal(const struct children *children, int signal)
{
	for (unsigned i = 0; i < children->count; i++)
		(void)kill(children->list[i].pid, signal);
}

void children_end(struct children *children)
{
	children_signal(children, SIGKILL);
	while (children->count > 0) {
		const struct child *child = &children->list[--children->count];
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
		(void)close(child->report_fd);
	}
}

void children_forget(struct children *children)
{
	while (children->count > 0)
		(void)close(children->list[--children->count].report_fd);
}
