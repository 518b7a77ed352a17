/*
 * MSG_ZEROCOPY: the kernel sends from our pages and says on the error queue when it is done with
 * them, and whether it copied after all (Linux Documentation/networking/msg_zerocopy.rst).
 */
#include "payload/inflight.h"
#include "payload/pump.h"

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

static int zerocopy_open(struct pump *pump)
{
	const int one = 1;
	struct zerocopy_state *state = calloc(1, sizeof(*state));
	if (state == NULL)
		return ENOMEM;
	state->never = setsockopt(pump->fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) != 0;
	pump->state = state;
	return inflight_open(&state->inflight, &pump->source);
}

/* Takes one message of the error queue; false when there is none. */
static bool note_take(struct pump *pump)
{
	struct zerocopy_state *state = pump->state;
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof(control)};
	if (recvmsg(pump->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
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
		pump->counts->completed += calls;
		if ((note.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0)
			pump->counts->copied += calls;
		for (uint32_t i = 0; i < calls; i++)
			inflight_done(&state->inflight, note.ee_info + i);
	}
	return true;
}

static void notes_take(struct pump *pump)
{
	struct zerocopy_state *state = pump->state;
	state->looked = pump->counts->calls;
	while (note_take(pump))
		continue;
}

/* Until a note comes; the error queue always wakes poll(). */
static int zerocopy_wait(struct pump *pump)
{
	struct pollfd poller = {.fd = pump->fd};
	while (!note_take(pump)) {
		int ready = poll(&poller, 1, WAIT_MS);
		if (ready < 0 && errno != EINTR)
			return errno;
		/* A connection that is gone has nothing more to say. */
		if (pump->stopping(pump->stream) ||
		    (ready > 0 && (poller.revents & POLLHUP) != 0 && !note_take(pump)))
			return ECANCELED;
	}
	notes_take(pump);
	return 0;
}

/* The kernel pins no page of ours: it shall copy these bytes. */
static ssize_t copy_send(struct pump *pump, const struct piece *piece)
{
	pump->counts->refused++;
	return send(pump->fd, piece->bytes, piece->count, MSG_NOSIGNAL);
}

static ssize_t zerocopy_send(struct pump *pump, const struct piece *piece)
{
	struct zerocopy_state *state = pump->state;
	int error = 0;
	if (state->never)
		return copy_send(pump, piece);
	if (pump->counts->calls - state->looked >= CALLS_PER_LOOK)
		notes_take(pump);
	while (error == 0 && !inflight_room(&state->inflight, (uint32_t)pump->counts->calls))
		error = zerocopy_wait(pump);
	if (error != 0) {
		errno = error;
		return -1;
	}
	ssize_t sent = send(pump->fd, piece->bytes, piece->count, MSG_NOSIGNAL | MSG_ZEROCOPY);
	if (sent >= 0) {
		/* Every call that took bytes has a number, from 0 on. */
		inflight_call(&state->inflight, (uint32_t)pump->counts->calls, piece->slot);
		pump->counts->calls++;
		return sent;
	}
	/*
	 * Too many notes are unread, or too many pages are pinned: of a user without CAP_IPC_LOCK
	 * no more than RLIMIT_MEMLOCK in all processes. To wait for notes would bind the rate to
	 * that much per round trip, and none may be to come.
	 */
	if (errno != ENOBUFS)
		return -1;
	notes_take(pump);
	return copy_send(pump, piece);
}

static void zerocopy_sent(struct pump *pump, const struct piece *piece)
{
	struct zerocopy_state *state = pump->state;
	inflight_close_slot(&state->inflight, piece->slot);
}

static void zerocopy_close(struct pump *pump)
{
	struct zerocopy_state *state = pump->state;
	struct pollfd poller = {.fd = pump->fd};
	notes_take(pump);
	/* What was acknowledged is noted at once; what never will be is not waited for. */
	while (pump->counts->completed < pump->counts->calls && poll(&poller, 1, WAIT_MS) > 0 &&
	       note_take(pump))
		notes_take(pump);
	inflight_release(&state->inflight);
	free(state);
	pump->state = NULL;
}

const struct sending_method sending_zerocopy = {
    .name = "zerocopy",
    .keeps = true,
    .open = zerocopy_open,
    .send = zerocopy_send,
    .sent = zerocopy_sent,
    .wait = zerocopy_wait,
    .close = zerocopy_close,
};
