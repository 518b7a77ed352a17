/*
 * MSG_ZEROCOPY: the kernel sends from our pages and says on the error queue when it is done with
 * them, and whether it copied after all (Linux Documentation/networking/msg_zerocopy.rst).
 */
#include "payload/inflight.h"
#include "payload/send_method.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Notes are read in passing this often; while they wait they take a little kernel memory. */
#define CALLS_PER_LOOK 32
#define WAIT_MS        100

struct zerocopy_state {
	struct inflight inflight;
	bool never;      /* this socket takes no MSG_ZEROCOPY (MPTCP) */
	uint64_t looked; /* calls at the last look */
};

static int zerocopy_open(struct send_context *context)
{
	const int one = 1;
	struct zerocopy_state *state = calloc(1, sizeof(*state));
	if (state == NULL)
		return ENOMEM;
	state->never = setsockopt(context->fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) != 0;
	context->state = state;
	return inflight_open(&state->inflight, &context->source);
}

/* Takes one message of the error queue; false when there is none. */
static bool note_take(struct send_context *context)
{
	struct zerocopy_state *state = context->state;
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof(control)};
	if (recvmsg(context->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part != NULL;
	     part = CMSG_NXTHDR(&message, part)) {
		struct sock_extended_err note;
		if (!((part->cmsg_level == SOL_IP && part->cmsg_type == IP_RECVERR) ||
		      (part->cmsg_level == SOL_IPV6 && part->cmsg_type == IPV6_RECVERR)))
			continue;
		memcpy(&note, CMSG_DATA(part), sizeof(note));
		if (note.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
			continue;
		/* Calls ee_info to ee_data, counted in 32 bits. */
		uint32_t calls = note.ee_data - note.ee_info + 1;
		context->counts->completed += calls;
		if ((note.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0)
			context->counts->copied += calls;
		for (uint32_t i = 0; i < calls; i++)
			inflight_done(&state->inflight, note.ee_info + i);
	}
	return true;
}

static void notes_take(struct send_context *context)
{
	struct zerocopy_state *state = context->state;
	state->looked = context->counts->calls;
	while (note_take(context))
		continue;
}

/* Until a note comes; the error queue always wakes poll(). */
static int zerocopy_wait(struct send_context *context)
{
	struct pollfd poller = {.fd = context->fd};
	while (!note_take(context)) {
		int ready = poll(&poller, 1, WAIT_MS);
		if (ready < 0 && errno != EINTR)
			return errno;
		/* A connection that is gone has nothing more to say. */
		if (context->stopping(context->stream) ||
		    (ready > 0 && (poller.revents & POLLHUP) != 0 && !note_take(context)))
			return ECANCELED;
	}
	notes_take(context);
	return 0;
}

/* The kernel pins no page of ours: it shall copy these bytes. */
static ssize_t copy_send(struct send_context *context, const struct piece *piece)
{
	context->counts->refused++;
	return send(context->fd, piece->bytes, piece->count, MSG_NOSIGNAL);
}

static ssize_t zerocopy_send(struct send_context *context, const struct piece *piece)
{
	struct zerocopy_state *state = context->state;
	int error = 0;
	if (state->never)
		return copy_send(context, piece);
	if (context->counts->calls - state->looked >= CALLS_PER_LOOK)
		notes_take(context);
	while (error == 0 && !inflight_room(&state->inflight, (uint32_t)context->counts->calls))
		error = zerocopy_wait(context);
	if (error != 0) {
		errno = error;
		return -1;
	}
	ssize_t sent = send(context->fd, piece->bytes, piece->count, MSG_NOSIGNAL | MSG_ZEROCOPY);
	if (sent >= 0) {
		/* Every call that took bytes has a number, from 0 on. */
		inflight_call(&state->inflight, (uint32_t)context->counts->calls, piece->slot);
		context->counts->calls++;
		return sent;
	}
	/*
	 * Too many notes are unread, or too many pages are pinned: of a user without CAP_IPC_LOCK
	 * no more than RLIMIT_MEMLOCK in all processes. To wait for notes would bind the rate to
	 * that much per round trip, and none may be to come.
	 */
	if (errno != ENOBUFS)
		return -1;
	notes_take(context);
	return copy_send(context, piece);
}

static void zerocopy_sent(struct send_context *context, const struct piece *piece)
{
	struct zerocopy_state *state = context->state;
	inflight_close_slot(&state->inflight, piece->slot);
}

static void zerocopy_close(struct send_context *context)
{
	struct zerocopy_state *state = context->state;
	struct pollfd poller = {.fd = context->fd};
	notes_take(context);
	/* What was acknowledged is noted at once; what never will be is not waited for. */
	while (context->counts->completed < context->counts->calls &&
	       poll(&poller, 1, WAIT_MS) > 0 && note_take(context))
		notes_take(context);
	inflight_release(&state->inflight);
	free(state);
	context->state = NULL;
}

const struct send_operations sending_zerocopy = {
    .name = "zerocopy",
    .keeps = true,
    .open = zerocopy_open,
    .send = zerocopy_send,
    .sent = zerocopy_sent,
    .wait = zerocopy_wait,
    .close = zerocopy_close,
};
