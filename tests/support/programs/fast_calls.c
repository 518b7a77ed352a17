// Calls that the guest's kernel turns into jumps (patch 0031), from places of its own: what they
// return, the flags behind them, the stack below them, vector registers, signals, forks, threads.
//
// fast_calls jumps | calls: whether these places are jumps after many calls. Exit status 0: all is
// as it should be; else the line that failed is told.
#include <asm/prctl.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES 200
#define BYTES 32 /* of a vector */

// As the C library has them: two comparisons, and what is below the stack's pointer is kept.
#define PLACE(name, least, condition)                                                              \
	long name(long number, long first, long second, long third);                               \
	extern const unsigned char name##_place[8];                                                \
	__asm__(".text\n.p2align 6\n.globl " #name "\n" #name ":\n"                                \
		"movq %rdi, %rax\nmovq %rsi, %rdi\nmovq %rdx, %rsi\nmovq %rcx, %rdx\n"             \
		"movq %rdi, -8(%rsp)\n.p2align 4\n" #name "_place:\n"                              \
		"syscall\ncmpq $" #least ", %rax\n" #condition " failed(%rip)\n"                   \
		"cmpq %rdi, -8(%rsp)\nsetne below(%rip)\nret\n")

unsigned char failed, below;
PLACE(call_a, -4096, seta);
PLACE(call_b, -4095, setae);

static int ends[2];
static volatile int signals;

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what) || below) {                                                            \
			fprintf(stderr, "line %d: %s\n", __LINE__, #what);                         \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

// The call with a pattern in a vector register, which must be there afterwards.
__attribute__((noinline)) static int vector_kept(long number, long first, long second, int pattern)
{
	unsigned char before[BYTES], after[BYTES];

	memset(before, pattern, sizeof(before));
	__asm__ volatile("vmovdqu (%1), %%ymm13\n.p2align 4\nsyscall\ncmpq $-4096, %%rax\n"
			 "vmovdqu %%ymm13, (%2)"
			 : "+a"(number)
			 : "r"(before), "r"(after), "D"(first), "S"(second)
			 : "rcx", "r11", "memory", "xmm13", "cc");
	return memcmp(before, after, sizeof(before)) == 0;
}

static void *turns_of_another(void *pattern)
{
	for (int turn = 0; turn < TIMES; turn++)
		CHECK(vector_kept(SYS_sched_yield, 0, 0, *(int *)pattern));
	return NULL;
}

static void handle(int number)
{
	__asm__ volatile("vxorps %%ymm13, %%ymm13, %%ymm13" : : : "xmm13");
	signals++;
	if (number == SIGALRM)
		CHECK(call_a(SYS_write, ends[1], (long)"x", 1) == 1);
}

static void signals_are_as_ever(void)
{
	struct sigaction action = {.sa_handler = handle};
	const struct itimerval soon = {.it_value = {.tv_usec = 5000}};
	char byte;

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	for (int turn = 1; turn <= TIMES; turn++) {
		CHECK(vector_kept(SYS_kill, getpid(), SIGUSR1, turn & 0x7f));
		CHECK(signals == turn);
	}
	CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &soon, NULL) == 0);
	CHECK(call_a(SYS_read, ends[0], (long)&byte, 1) == -EINTR && failed);
	CHECK(call_a(SYS_read, ends[0], (long)&byte, 1) == 1 && !failed);
	action.sa_flags = SA_RESTART;
	CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &soon, NULL) == 0);
	CHECK(call_b(SYS_read, ends[0], (long)&byte, 1) == 1 && !failed);
}

static void others_are_as_ever(void)
{
	pthread_t thread;
	int here = 0x11, there = 0x22, status;

	CHECK(pthread_create(&thread, NULL, turns_of_another, &there) == 0);
	turns_of_another(&here);
	CHECK(pthread_join(thread, NULL) == 0);
	const pid_t child = fork();
	turns_of_another(child == 0 ? &there : &here);
	CHECK(call_a(SYS_getpid, 0, 0, 0) == getpid());
	if (child == 0)
		_exit(0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int count, char **words)
{
	static const unsigned char syscall_itself[2] = {0x0f, 0x05};
	const int jumps = count == 2 && strcmp(words[1], "jumps") == 0;
	static long there = 77;
	long found;

	for (int turn = 0; turn < TIMES; turn++) {
		CHECK(call_a(SYS_getpid, 0, 0, 0) == getpid() && !failed);
		CHECK(call_b(SYS_close, -1, 0, 0) == -EBADF && failed);
		CHECK(call_b(SYS_getpid, 0, 0, 0) == getpid() && !failed);
		CHECK(call_a(SYS_close, -1, 0, 0) == -EBADF && failed);
	}
	CHECK((memcmp(call_a_place, syscall_itself, 2) != 0) == jumps);
	CHECK((memcmp(call_b_place, syscall_itself, 2) != 0) == jumps);
	CHECK(pipe(ends) == 0);
	if (__builtin_cpu_supports("avx2")) {
		signals_are_as_ever();
		others_are_as_ever();
	}
	// A program that wants the segment register for itself has it, and no jumps any more.
	CHECK(call_a(SYS_arch_prctl, ARCH_SET_GS, (long)&there, 0) == 0 && !failed);
	__asm__ volatile("movq %%gs:0, %0" : "=r"(found));
	CHECK(found == there);
	for (int turn = 0; turn < TIMES; turn++)
		CHECK(call_a(SYS_close, -1, 0, 0) == -EBADF && failed);
	CHECK(memcmp(call_a_place, syscall_itself, 2) == 0);
	puts("as ever");
	return 0;
}
