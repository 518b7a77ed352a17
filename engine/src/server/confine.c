#include "server/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int confine_user_find(const char *name, struct confined_user *user, struct failure *failure)
{
	errno = 0;
	const struct passwd *found = getpwnam(name);
	if (found == NULL && errno != 0)
		return failure_set_errno(failure, errno, "--user '%s'", name);
	if (found == NULL)
		return failure_set(failure, "--user '%s': no such user", name);
	if (found->pw_uid == 0)
		return failure_set(failure, "--user '%s': that is root", name);
	if (geteuid() != 0 && geteuid() != found->pw_uid)
		return failure_set(failure, "--user '%s': only root may become another user", name);
	*user = (struct confined_user){.name = name, .uid = found->pw_uid, .gid = found->pw_gid};
	return 0;
}

int confine_user(const struct confined_user *user, struct failure *failure)
{
	uid_t uid = user->uid;
	gid_t gid = user->gid;
	if (user->name == NULL || geteuid() != 0)
		return 0;
	if (initgroups(user->name, gid) != 0 || setresgid(gid, gid, gid) != 0 ||
	    setresuid(uid, uid, uid) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
		return failure_set_errno(failure, errno, "--user '%s'", user->name);
	return 0;
}

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#if defined(LANDSPEED_SANITIZED) || !defined(ARCHITECTURE)
bool confine_calls(bool runs)
{
	(void)runs;
	return false;
}
#else

/* Those of the C library's that it makes for us are here, too, and older ones of the same kind. */
static const unsigned calls[] = {
    /* moving bytes: the most frequent first, for kernels without a cache of verdicts (5.11) */
    SYS_recvfrom,
    SYS_sendto,
    SYS_read,
    SYS_write,
    SYS_splice,
    SYS_vmsplice,
    SYS_sendfile,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_recvmmsg,
    SYS_sendmmsg,
    SYS_readv,
    SYS_writev,
    SYS_futex,
    SYS_getsockopt,
    SYS_io_uring_enter,
    SYS_pread64,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    /* sockets */
    SYS_socketpair,
    SYS_bind,
    SYS_listen,
    SYS_accept4,
    SYS_accept,
    SYS_connect,
    SYS_getsockname,
    SYS_getpeername,
    SYS_setsockopt,
    SYS_shutdown,
    SYS_io_uring_setup,
    SYS_io_uring_register,
    /* waiting and time */
    SYS_ppoll,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_pselect6,
    SYS_eventfd2,
    SYS_signalfd4,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_restart_syscall,
    /* memory */
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_mlock,
    SYS_mlock2,
    SYS_munlock,
    SYS_memfd_create,
    SYS_getrandom,
    /* files */
    SYS_openat,
    SYS_openat2,
    SYS_close,
    SYS_lseek,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_fstatfs,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fadvise64,
    SYS_fsync,
    SYS_fdatasync,
    SYS_sync_file_range,
    SYS_fcntl,
    SYS_flock,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_getdents64,
    SYS_mkdirat,
    SYS_renameat,
    SYS_renameat2,
    SYS_unlinkat,
    SYS_symlinkat,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_utimensat,
    SYS_umask,
    SYS_ioctl,
    /* threads and processes */
    SYS_set_robust_list,
    SYS_set_tid_address,
    SYS_rseq,
    SYS_exit,
    SYS_exit_group,
    SYS_gettid,
    SYS_getpid,
    SYS_getppid,
    SYS_setpgid,
    SYS_wait4,
    SYS_waitid,
    SYS_kill,
    SYS_tgkill,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_prctl,
    SYS_prlimit64,
    SYS_getrusage,
    SYS_getcpu,
    SYS_sysinfo,
    SYS_uname,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_getscheduler,
    SYS_sched_setscheduler,
    SYS_sched_getparam,
    SYS_sched_setparam,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_capget,
    SYS_perf_event_open,
    SYS_membarrier,
#ifdef __x86_64__
    SYS_poll,
    SYS_select,
    SYS_epoll_wait,
    SYS_time,
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_unlink,
    SYS_rename,
    SYS_mkdir,
    SYS_dup2,
    SYS_getrlimit,
    SYS_getdents,
    SYS_arch_prctl,
#endif
};

/* Of whoever runs another program; all else of it is above. */
static const unsigned running_calls[] = {SYS_execve};

#define CALLS           (sizeof(calls) / sizeof(calls[0]))
#define RUNNING         (sizeof(running_calls) / sizeof(running_calls[0]))

/* Low halves of arguments: little-endian, as both architectures are. */
#define ARGUMENT(n)     ((unsigned)offsetof(struct seccomp_data, args[n]))
#define LOAD(place)     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (place))
#define RETURN(verdict) BPF_STMT(BPF_RET | BPF_K, (verdict))
#define EQUAL(value, then, otherwise)                                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then), (otherwise))
#define ANY_BIT(bits, then, otherwise)                                                             \
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (then), (otherwise))
#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | \
	 CLONE_NEWCGROUP)
/* clone3's flags cannot be seen: without it the C library takes clone. */
#define ABSENT (SECCOMP_RET_ERRNO | ENOSYS)

static const struct sock_filter head[] = {
    LOAD((unsigned)offsetof(struct seccomp_data, arch)),
    EQUAL(ARCHITECTURE, 1, 0),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    LOAD((unsigned)offsetof(struct seccomp_data, nr)),
};

/* Behind the calls: two whose arguments matter, and the verdicts. */
static const struct sock_filter tail[] = {
    EQUAL(SYS_socket, 3, 0),   EQUAL(SYS_clone, 0, 7),
    LOAD(ARGUMENT(0)),         ANY_BIT(NEW_NAMESPACES, 5, 6),
    LOAD(ARGUMENT(0)),         EQUAL(AF_INET, 4, 0),
    EQUAL(AF_INET6, 3, 0),     EQUAL(AF_UNIX, 2, 0),
    EQUAL(AF_NETLINK, 1, 0),   RETURN(ABSENT),
    RETURN(SECCOMP_RET_ALLOW),
};

#define HEAD (sizeof(head) / sizeof(head[0]))
#define TAIL (sizeof(tail) / sizeof(tail[0]))

_Static_assert(CALLS + RUNNING + TAIL <= UINT8_MAX, "a jump of the filter has eight bits");

bool confine_calls(bool runs)
{
	struct sock_filter filter[HEAD + CALLS + RUNNING + TAIL];
	size_t count = CALLS + (runs ? RUNNING : 0);
	memcpy(filter, head, sizeof(head));
	for (size_t i = 0; i < count; i++) {
		unsigned call = i < CALLS ? calls[i] : running_calls[i - CALLS];
		uint8_t to_the_end = (uint8_t)(count - i - 1 + TAIL - 1);
		filter[HEAD + i] = (struct sock_filter)EQUAL(call, to_the_end, 0);
	}
	memcpy(filter + HEAD + count, tail, sizeof(tail));
	const struct sock_fprog program = {.len = (unsigned short)(HEAD + count + TAIL),
					   .filter = filter};
	/* Some kernels slow a confined process down, against others that watch it: not wanted. */
	return prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
	       (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
			&program) == 0 ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}
#endif
