#include "server/children.h"

#include "base/exits.h"
#include "control/channel.h"

#include <errno.h>
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

static void child_remove(struct children *children, unsigned index)
{
	(void)close(children->list[index].channel);
	children->list[index] = children->list[--children->count];
}

static void child_end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* One that has told its result waits for nothing but that its client goes; who came first is first.
 */
static void place_free(struct children *children)
{
	unsigned oldest = children->count;
	children_look(children);
	for (unsigned i = 0; i < children->count; i++) {
		if (children->list[i].leaving &&
		    (oldest == children->count ||
		     children->list[i].session < children->list[oldest].session))
			oldest = i;
	}
	if (oldest == children->count)
		return;
	child_end(children->list[oldest].pid);
	child_remove(children, oldest);
}

pid_t children_fork(struct children *children, const struct child *session, int *channel,
		    struct failure *failure)
{
	int ends[2];
	if (children->count == CHILDREN_LIMIT)
		place_free(children);
	if (children->count == CHILDREN_LIMIT)
		return failure_set(failure, "too many sessions");
	if (channel_open(ends, failure) != 0)
		return -1;
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
		*channel = ends[1];
		return 0;
	}
	(void)close(ends[1]);
	struct child *child = &children->list[children->count++];
	*child = *session;
	child->pid = pid;
	child->channel = ends[0];
	return pid;
}

void children_look(struct children *children)
{
	for (unsigned i = 0; i < children->count; i++) {
		int word;
		struct child *child = &children->list[i];
		while ((word = channel_hear(child->channel)) > 0) {
			if (word == CHANNEL_LEAVES || !child->endless)
				child->awaits = 0;
			child->leaving = child->leaving || word == CHANNEL_LEAVES;
		}
		if (word == 0)
			continue;
		child->awaits = 0;
		child->leaving = true;
		child->gone = true;
	}
}

void children_reap(struct children *children, struct children_fates *fates)
{
	children_look(children);
	for (unsigned i = children->count; i-- > 0;) {
		int status = 0;
		struct child *child = &children->list[i];
		/* It waits at most for the rest of the exit: the channel closes in it. */
		if (!child->gone || waitpid(child->pid, &status, 0) < 0)
			continue;
		bool broke = !WIFEXITED(status);
		fates->failed = fates->failed || broke || WEXITSTATUS(status) != 0;
		fates->cut_short =
		    fates->cut_short || broke || WEXITSTATUS(status) == EXIT_INTERRUPTED;
		child_remove(children, i);
	}
}

unsigned children_serving(const struct children *children)
{
	unsigned count = 0;
	for (unsigned i = 0; i < children->count; i++)
		count += children->list[i].leaving ? 0 : 1;
	return count;
}

unsigned children_awaiting(const struct children *children, const struct in6_addr *site)
{
	unsigned count = 0;
	for (unsigned i = 0; i < children->count; i++) {
		const struct child *child = &children->list[i];
		count += net_same_site(&child->site, site) ? child->awaits : 0;
	}
	return count;
}

void children_look_again(struct children *children, const struct in6_addr *site)
{
	if (children_awaiting(children, site) != 0)
		children_look(children);
}

const struct child *children_find(const struct children *children, uint32_t session,
				  const struct address *address)
{
	for (unsigned i = 0; i < children->count; i++) {
		const struct child *child = &children->list[i];
		if (child->session == session && child->awaits != 0 &&
		    net_same_host(&child->address, address))
			return child;
	}
	return NULL;
}

struct windows windows_join(struct windows a, struct windows b)
{
	return (struct windows){
	    .largest_bytes = a.largest_bytes > b.largest_bytes ? a.largest_bytes : b.largest_bytes,
	    .autotuned = a.autotuned || b.autotuned};
}

struct windows children_windows(const struct children *children)
{
	struct windows all = {0};
	for (unsigned i = 0; i < children->count; i++) {
		if (children->list[i].awaits != 0)
			all = windows_join(all, children->list[i].windows);
	}
	return all;
}

unsigned children_of_site(const struct children *children, const struct in6_addr *site)
{
	unsigned count = 0;
	for (unsigned i = 0; i < children->count; i++)
		count += net_same_site(&children->list[i].site, site) ? 1 : 0;
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
		child_end(children->list[children->count - 1].pid);
		child_remove(children, children->count - 1);
	}
}

void children_forget(struct children *children)
{
	while (children->count > 0)
		(void)close(children->list[--children->count].channel);
}
