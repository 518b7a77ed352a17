/* The kernel copies the bytes: they may change as soon as the call is back. */
#include "payload/send_method.h"

#include <sys/socket.h>

static ssize_t write_send(struct send_context *context, const struct piece *piece)
{
	return send(context->fd, piece->bytes, piece->count, MSG_NOSIGNAL);
}

const struct send_operations sending_write = {
    .name = "write",
    .send = write_send,
};
