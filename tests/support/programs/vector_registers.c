// Two processes that take turns, each with a pattern of its own in a vector register; exit status 0
// when a call of the kernel and a turn of the other leave it as it was. The widest register that
// this processor has.
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 1000

#define KEPT(MOVE, REGISTER)                                                                       \
	__asm__ volatile(MOVE " (%1), %%" REGISTER "\n\tsyscall\n\t" MOVE " %%" REGISTER ", (%2)"  \
			 : "+a"(call)                                                              \
			 : "r"(before), "r"(after)                                                 \
			 : "rcx", "r11", "memory", "xmm13")

static void keep(const unsigned char *before, unsigned char *after)
{
	long call = SYS_sched_yield;

	if (__builtin_cpu_supports("avx512f"))
		KEPT("vmovdqu64", "zmm13");
	else if (__builtin_cpu_supports("avx2"))
		KEPT("vmovdqu", "ymm13");
	else
		KEPT("movdqu", "xmm13");
}

int main(void)
{
	const int bytes = __builtin_cpu_supports("avx512f") ? 64
			  : __builtin_cpu_supports("avx2")  ? 32
							    : 16;
	const pid_t child = fork();
	unsigned char before[64], after[64];
	int status = 1;

	if (child < 0)
		return 1;
	for (int turn = 0; turn < TURNS; turn++) {
		memset(before, (child == 0 ? 0x80 : 0) | (turn & 0x7f), sizeof(before));
		memset(after, 0xff, sizeof(after));
		keep(before, after);
		if (memcmp(before, after, (size_t)bytes) != 0)
			return 1;
	}
	if (child == 0)
		return 0;
	if (waitpid(child, &status, 0) != child || status != 0)
		return 1;
	printf("%d bytes kept\n", bytes);
	return 0;
}
