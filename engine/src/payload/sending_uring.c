/*
 * io_uring with IORING_OP_SEND_ZC (Linux 6.0): one send at a time, so that the order is kept; the
 * notes that its pages are free come later, each of its own, through the same ring.
 */
#include "payload/inflight.h"
#include "payload/send_method.h"

#include <errno.h>
#include <liburing.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#define RING_ENTRIES 64
/* Linux 6.2; the distributions' headers are older. */
#ifndef IORING_SEND_ZC_REPORT_USAGE
#define IORING_SEND_ZC_REPORT_USAGE (1U << 3)
#endif
#ifndef IORING_NOTIF_USAGE_ZC_COPIED
#define IORING_NOTIF_USAGE_ZC_COPIED (1U << 31)
#endif
/* How long the ring is asked for what is left at the end. */
#define LAST_WAIT_S 1

/*
 * Rings are made and given back one at a time. liburing unmaps them by system calls of its own
 * (it imports neither mmap nor munmap from the C library), which ThreadSanitizer does not see: a
 * ring at the address of an older one of another thread would look like a race. The kernel keeps
 * the order; the mutex says so.
 */
static pthread_mutex_t rings_mutex = PTHREAD_MUTEX_INITIALIZER;

struct uring_state {
	struct io_uring ring;
	struct inflight inflight;
	bool result_there;
	int result;
};

static void ring_close(struct uring_state *state)
{
	(void)pthread_mutex_lock(&rings_mutex);
	io_uring_queue_exit(&state->ring);
	(void)pthread_mutex_unlock(&rings_mutex);
}

static int uring_open(struct send_context *context)
{
	struct uring_state *state = calloc(1, sizeof(*state));
	if (state == NULL)
		return ENOMEM;
	/* The notes of all slots in flight must fit the completion queue. */
	struct io_uring_params params = {.flags = IORING_SETUP_CQSIZE, .cq_entries = 1024};
	(void)pthread_mutex_lock(&rings_mutex);
	int error = -io_uring_queue_init_params(RING_ENTRIES, &state->ring, &params);
	(void)pthread_mutex_unlock(&rings_mutex);
	if (error == 0 && (error = inflight_open(&state->inflight, &context->source)) != 0)
		ring_close(state);
	if (error != 0) {
		free(state);
		/* Rings count against RLIMIT_MEMLOCK too: without one all is copied. */
		return error == ENOMEM ? 0 : error;
	}
	context->state = state;
	return 0;
}

/* The kernel takes no page of ours: it shall copy these bytes. */
static ssize_t copy_send(struct send_context *context, const struct piece *piece)
{
	context->counts->refused++;
	return send(context->fd, piece->bytes, piece->count, MSG_NOSIGNAL);
}

static void completion_take(struct send_context *context, const struct io_uring_cqe *completion)
{
	struct uring_state *state = context->state;
	bool note = (completion->flags & IORING_CQE_F_NOTIF) != 0;
	if (!note) {
		state->result_there = true;
		state->result = completion->res;
		/* Without F_MORE no note follows: no page was taken. */
		if ((completion->flags & IORING_CQE_F_MORE) != 0)
			return;
	}
	context->counts->completed++;
	if (note && ((uint32_t)completion->res & IORING_NOTIF_USAGE_ZC_COPIED) != 0)
		context->counts->copied++;
	inflight_done(&state->inflight, (uint32_t)completion->user_data);
}

/* Waits for one completion and takes all that are there. 0 or a positive errno. */
static int completions_take(struct send_context *context)
{
	struct uring_state *state = context->state;
	struct io_uring_cqe *completion;
	struct __kernel_timespec patience = {.tv_sec = LAST_WAIT_S};
	int status = -io_uring_wait_cqe_timeout(&state->ring, &completion, &patience);
	if (status != 0)
		return status == EINTR ? 0 : status;
	do {
		completion_take(context, completion);
		io_uring_cqe_seen(&state->ring, completion);
	} while (io_uring_peek_cqe(&state->ring, &completion) == 0);
	return 0;
}

static ssize_t uring_send(struct send_context *context, const struct piece *piece)
{
	struct uring_state *state = context->state;
	uint32_t call = (uint32_t)context->counts->calls;
	int error = 0;
	if (state == NULL)
		return copy_send(context, piece);
	while (error == 0 && !inflight_room(&state->inflight, call))
		error = completions_take(context);
	struct io_uring_sqe *entry = error == 0 ? io_uring_get_sqe(&state->ring) : NULL;
	if (entry == NULL) {
		errno = error != 0 ? error : EBUSY;
		return -1;
	}
	io_uring_prep_send_zc(entry, context->fd, piece->bytes, piece->count,
			      MSG_NOSIGNAL | MSG_WAITALL, IORING_SEND_ZC_REPORT_USAGE);
	io_uring_sqe_set_data64(entry, call);
	state->result_there = false;
	inflight_call(&state->inflight, call, piece->slot);
	context->counts->calls++;
	int submitted = io_uring_submit(&state->ring);
	if (submitted < 0) {
		errno = -submitted;
		return -1;
	}
	/* A note may come first; the wait for the result ends when the socket is shut down. */
	while (!state->result_there) {
		error = completions_take(context);
		if (error != 0 && error != ETIME) {
			errno = error;
			return -1;
		}
	}
	/* No page could be pinned (RLIMIT_MEMLOCK), as in sending_zerocopy.c: these are copied. */
	if (state->result == -ENOMEM || state->result == -ENOBUFS)
		return copy_send(context, piece);
	if (state->result < 0) {
		errno = -state->result;
		return -1;
	}
	return state->result;
}

static int uring_wait(struct send_context *context)
{
	int error = completions_take(context);
	return error == ETIME && !context->stopping(context->stream) ? 0 : error;
}

static void uring_sent(struct send_context *context, const struct piece *piece)
{
	struct uring_state *state = context->state;
	if (state != NULL)
		inflight_close_slot(&state->inflight, piece->slot);
	else
		source_release(&context->source, piece->slot);
}

static void uring_close(struct send_context *context)
{
	struct uring_state *state = context->state;
	if (state == NULL)
		return;
	while (context->counts->completed < context->counts->calls &&
	       completions_take(context) == 0)
		continue;
	ring_close(state);
	inflight_release(&state->inflight);
	free(state);
	context->state = NULL;
}

const struct send_operations sending_uring = {
    .name = "io_uring",
    .keeps = true,
    .open = uring_open,
    .send = uring_send,
    .sent = uring_sent,
    .wait = uring_wait,
    .close = uring_close,
};
