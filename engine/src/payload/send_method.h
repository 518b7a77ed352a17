/* One stream's way of sending, as its thread sees it: shared by sender.c and sending_*.c. */
#pragma once

#include "payload/sending.h"
#include "payload/source.h"

#include <stdbool.h>
#include <sys/types.h>

struct send_context {
	int fd;
	struct source source;
	uint32_t packet_bytes; /* what TCP hands to the device at once; 0: unknown (packet.h) */
	struct send_counts *counts;
	void *state;                    /* of the method */
	bool (*stopping)(void *stream); /* the transfer is over: do not wait for anything */
	void *stream;
};

struct send_operations {
	const char *name;
	bool takes_file; /* sends from the payload's file: cannot send made blocks */
	bool keeps;      /* the bytes are in use after the call, until the kernel says otherwise */
	/* May be NULL. 0 or a positive errno. */
	int (*open)(struct send_context *context);
	/* Some of the piece; -1 with errno. Blocks until it can. */
	ssize_t (*send)(struct send_context *context, const struct piece *piece);
	/* The last byte of the piece is sent: when is its slot free? NULL: now. */
	void (*sent)(struct send_context *context, const struct piece *piece);
	/* Waits until a slot is free. NULL: one always is. 0 or a positive errno. */
	int (*wait)(struct send_context *context);
	/* Takes what the kernel still has to say. May be NULL. */
	void (*close)(struct send_context *context);
};

extern const struct send_operations sending_write;
extern const struct send_operations sending_sendfile;
extern const struct send_operations sending_splice;
extern const struct send_operations sending_zerocopy;
extern const struct send_operations sending_uring;
