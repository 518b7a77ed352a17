#include "command/hosts.h"

#include "base/exits.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MESSAGE_BYTES (64 * 1024)
#define WORDS_LIMIT   512
/* What an exec would have drawn for the program's AT_RANDOM. */
#define AT_RANDOM_BYTES 16

/* Descriptors that come with a message. */
enum { NAMESPACE, OUTPUT, DESCRIPTORS };

struct start {
	char text[MESSAGE_BYTES];
	int descriptors[DESCRIPTORS];
	char *variables[WORDS_LIMIT];
	char *words[WORDS_LIMIT];
};

/* Nothing is allocated before the fork: the first malloc() of a process draws a random number. */
static struct start start;

/* The words up to an empty one, behind `count` that are there; where the text goes on. */
static char *words_take(char *at, const char *end, char **words, size_t count)
{
	for (; at < end && *at != '\0'; at += strlen(at) + 1) {
		if (count + 1 == WORDS_LIMIT)
			return NULL;
		words[count++] = at;
	}
	words[count] = NULL;
	return at + 1;
}

static size_t words_count(char **words)
{
	size_t count = 0;
	while (words[count] != NULL)
		count++;
	return count;
}

/* Those of this process in front of those of the message. */
static char *variables_take(const char *end)
{
	size_t count = words_count(environ);
	if (count >= WORDS_LIMIT)
		return NULL;
	memcpy(start.variables, environ, count * sizeof(*environ));
	return words_take(start.text, end, start.variables, count);
}

/* Bytes of the message, 0 at the end; its descriptors come along. */
static ssize_t start_receive(void)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(start.descriptors))];
	} control;
	struct iovec part = {.iov_base = start.text, .iov_len = sizeof(start.text) - 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC);
	if (got <= 0)
		return got;
	if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return -1;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (header == NULL || header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(sizeof(start.descriptors)))
		return -1;
	memcpy(start.descriptors, CMSG_DATA(header), sizeof(start.descriptors));
	start.text[got] = '\0';
	return got;
}

static void descriptors_close(void)
{
	for (unsigned i = 0; i < DESCRIPTORS; i++)
		(void)close(start.descriptors[i]);
}

/* The new process: its host, its descriptors, and no more of its parent than the libraries. */
static int child_settle(void)
{
	unsigned char drawn[AT_RANDOM_BYTES];
	(void)close(STDIN_FILENO);
	if (setns(start.descriptors[NAMESPACE], CLONE_NEWNET) != 0 ||
	    open("/dev/null", O_RDONLY) != STDIN_FILENO ||
	    dup2(start.descriptors[OUTPUT], STDOUT_FILENO) < 0 ||
	    dup2(start.descriptors[OUTPUT], STDERR_FILENO) < 0)
		return -1;
	descriptors_close();
	environ = start.variables;
	return getrandom(drawn, sizeof(drawn), 0) == (ssize_t)sizeof(drawn) ? 0 : -1;
}

bool hosts_follow(int *argc, char ***argv, int *status)
{
	ssize_t got;
	while ((got = start_receive()) > 0) {
		const char *end = start.text + got;
		char *rest = variables_take(end);
		if (rest == NULL || words_take(rest, end, start.words, 0) == NULL)
			break;
		/* A child of who asks, which waits for its end; fork() has no word for that. */
		long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0L, 0L, 0L, 0L);
		if (pid == 0) {
			if (child_settle() != 0)
				_exit(EXIT_FAILED);
			*argc = (int)words_count(start.words);
			*argv = start.words;
			return true;
		}
		descriptors_close();
		const int told = pid < 0 ? -errno : (int)pid;
		if (send(STDIN_FILENO, &told, sizeof(told), MSG_NOSIGNAL) < 0)
			break;
	}
	*status = got == 0 ? 0 : EXIT_FAILED;
	return false;
}

void hosts_leave(int status)
{
	(void)fflush(NULL);
	_exit(status);
}
