/* The ways of handing bytes to the kernel, and the choice between them. */
#pragma once

#include "base/failure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum send_method {
	SEND_AUTO,
	SEND_WRITE,    /* copied into the socket */
	SEND_SENDFILE, /* pages of the payload's file */
	SEND_SPLICE,   /* through a pipe: huge pages where they can be had, else the file's */
	SEND_ZEROCOPY, /* MSG_ZEROCOPY */
	SEND_URING,    /* io_uring, IORING_OP_SEND_ZC */
	SEND_METHODS
};

/* What the kernel said of calls that were to copy nothing. */
struct send_counts {
	uint64_t calls;
	uint64_t completed; /* calls whose pages the kernel has given back */
	uint64_t copied;    /* of them: it had copied after all */
	uint64_t refused;   /* calls beside them: no memory could be pinned, and we let it copy */
	uint64_t
	    pipe_bytes; /* of splice's pipe; 0: none of use could be had, and it was left out */
};

struct sending_facts {
	enum send_method asked;
	bool huge;           /* the payload lies in huge pages */
	bool calls_dear;     /* this kernel's packets cost less than its system calls */
	bool made;           /* blocks are made on the way (receive mode verify) */
	bool kernel_seals;   /* the kernel makes records of what it gets */
	bool device_copies;  /* lo, veth, ...: packets stay in this machine, or nothing is known */
	const char *device;  /* name of the route's device; NULL: unknown */
	uint64_t bytes;      /* 0: no limit */
	bool zerocopy_there; /* this kernel has MSG_ZEROCOPY for TCP */
};

const char *send_method_name(enum send_method way);
bool send_method_parse(const char *name, enum send_method *way);

/* Never SEND_AUTO; `why` gets the reason in words. Measures nothing. */
enum send_method send_method_choose(const struct sending_facts *facts, char *why, size_t size);

/* Can this kernel do it? -1 with the failure set to why not. */
int send_method_check(enum send_method way, bool made, struct failure *failure);
