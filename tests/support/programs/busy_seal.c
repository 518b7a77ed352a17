/* For LD_PRELOAD: the first seals are refused, as the kernel does while it holds a page itself. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

static int refusals = 5;

int fcntl64(int fd, int command, ...)
{
	va_list arguments;
	va_start(arguments, command);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl64");
	if (command == F_ADD_SEALS && refusals-- > 0) {
		errno = EBUSY;
		return -1;
	}
	return real(fd, command, argument);
}
