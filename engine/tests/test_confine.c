/* What a confined server's process may ask of the kernel. */
#include "server/confine.h"

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ALLOWED = 0, BROKEN = 77, UNCONFINED = 78 };

/* In a confined process of its own: the errno of the act, or ALLOWED. */
static int confined(long (*act)(void), bool runs)
{
	int status = 0;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (!confine_calls(runs))
			_exit(UNCONFINED);
		_exit(act() >= 0 ? ALLOWED : errno);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == UNCONFINED)
		skip();
	return WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN;
}

static long run_another(void)
{
	char *const words[] = {"true", NULL};
	return execv("/bin/true", words);
}

static long trace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long mount_something(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long leave_namespaces(void)
{
	return unshare(CLONE_NEWUSER);
}

static long clone_into_namespaces(void)
{
	return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
}

static long see_packets(void)
{
	return socket(AF_PACKET, SOCK_RAW, 0);
}

static long become_root(void)
{
	return setuid(0);
}

static long load_a_module(void)
{
	return syscall(SYS_finit_module, -1, "", 0);
}

static long watch_with_bpf(void)
{
	return syscall(SYS_bpf, 0, NULL, 0);
}

static long change_owner(void)
{
	return fchown(STDIN_FILENO, 0, 0);
}

static void what_no_server_does_is_not_there(void **state)
{
	long (*const acts[])(void) = {
	    run_another,           trace,       mount_something, leave_namespaces, see_packets,
	    clone_into_namespaces, become_root, load_a_module,   watch_with_bpf,   change_owner};
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		assert_int_equal(confined(acts[i], false), ENOSYS);
}

static long open_a_socket(void)
{
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	return fd >= 0 || errno == EAFNOSUPPORT ? socket(AF_NETLINK, SOCK_RAW, 0) : fd;
}

static long start_a_process(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	return pid > 0 ? waitpid(pid, NULL, 0) : -1;
}

static void *nothing(void *argument)
{
	return argument;
}

static long start_a_thread(void)
{
	pthread_t thread;
	errno = pthread_create(&thread, NULL, nothing, NULL);
	return errno == 0 && pthread_join(thread, NULL) == 0 ? 0 : -1;
}

static void what_a_server_does_is(void **state)
{
	assert_int_equal(confined(open_a_socket, false), ALLOWED);
	assert_int_equal(confined(start_a_process, false), ALLOWED);
	assert_int_equal(confined(start_a_thread, false), ALLOWED);
	assert_int_equal(confined(run_another, true), ALLOWED);
	assert_int_equal(confined(trace, true), ENOSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_no_server_does_is_not_there),
	    cmocka_unit_test(what_a_server_does_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
