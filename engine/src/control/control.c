#include "control/control.h"

#include "base/clock.h"
#include "base/secret.h"
#include "base/wire.h"
#include "control/frame.h"
#include "control/hello.h"
#include "net/net.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer that does not take a message of ours within this is not there. */
#define USUAL_PATIENCE_NS (30 * NS_PER_S)

struct control {
	int fd;
	uint64_t patience_ns;
	uint32_t limit;         /* of a message */
	unsigned challenge_due; /* bytes of it that are still to come */
	uint8_t challenge[CHALLENGE_BYTES];
	bool unanswered; /* by what may be no receiver */
	struct frame_decoder *decoder;
	struct auth_channel *channel; /* NULL: no key, frames carry no tag */
};

struct control *control_create(int fd, struct failure *failure)
{
	struct control *control = calloc(1, sizeof(*control));
	struct frame_decoder *decoder = frame_decoder_create();
	if (control == NULL || decoder == NULL) {
		(void)failure_set(failure, "out of memory");
		goto refuse;
	}
	if (net_set_blocking(fd, false, failure) != 0 ||
	    net_keep_alive(fd, USUAL_PATIENCE_NS, failure) != 0)
		goto refuse;
	control->fd = fd;
	control->patience_ns = USUAL_PATIENCE_NS;
	control->decoder = decoder;
	control_trust(control, false);
	return control;
refuse:
	frame_decoder_destroy(decoder);
	free(control);
	(void)close(fd);
	return NULL;
}

void control_destroy(struct control *control)
{
	if (control == NULL)
		return;
	frame_decoder_destroy(control->decoder);
	(void)close(control->fd);
	secret_destroy(control->channel);
	free(control);
}

int control_await(struct control *control, uint64_t patience_ns, struct failure *failure)
{
	if (patience_ns <= control->patience_ns)
		return 0;
	control->patience_ns = patience_ns;
	return net_keep_alive(control->fd, patience_ns, failure);
}

int control_rest(struct control *control, struct failure *failure)
{
	return net_keep_alive_anyway(control->fd, failure);
}

void control_expect_challenge(struct control *control)
{
	control->challenge_due = CHALLENGE_BYTES;
	control->unanswered = true;
}

void control_limit(struct control *control, uint32_t bytes)
{
	control->limit = bytes;
	frame_decoder_limit(control->decoder, bytes);
}

void control_trust(struct control *control, bool known)
{
	control_limit(control, known ? FRAME_LIMIT_BYTES : FRAME_STRANGER_BYTES);
}

int control_secure(struct control *control, const struct auth_channel *channel,
		   struct failure *failure)
{
	if (!channel->active)
		return 0;
	control->channel = secret_create(sizeof(*channel));
	if (control->channel == NULL)
		return failure_set(failure, "out of memory");
	*control->channel = *channel;
	return 0;
}

void control_inherit(struct control *control)
{
	if (control->channel != NULL)
		secret_inherit(control->channel, sizeof(*control->channel));
}

const uint8_t *control_secret(const struct control *control)
{
	return control->channel != NULL ? control->channel->secret : NULL;
}

void control_name_trust(const struct control *control, enum protect_mode mode,
			uint8_t name[TRUST_BYTES])
{
	uint8_t whole[AUTH_TAG_BYTES];
	const char *text = protect_mode_name(mode);
	memset(name, 0, TRUST_BYTES);
	if (mode == PROTECT_NONE || control->channel == NULL)
		return;
	(void)crypto_auth_hmacsha512256(whole, (const uint8_t *)text, strlen(text),
					control->channel->journals);
	memcpy(name, whole, TRUST_BYTES);
}

int control_fd(const struct control *control)
{
	return control->fd;
}

/* Until it can be written; false when the time is over. */
static bool writable_wait(int fd, uint64_t until_ns)
{
	struct pollfd writable = {.fd = fd, .events = POLLOUT};
	uint64_t now_ns = clock_monotonic_ns();
	return now_ns < until_ns &&
	       poll(&writable, 1, (int)((until_ns - now_ns) / NS_PER_MS) + 1) != 0;
}

static int bytes_send(const struct control *control, const uint8_t *bytes, size_t count,
		      struct failure *failure)
{
	int fd = control->fd;
	uint64_t until_ns = clock_monotonic_ns() + control->patience_ns;
	while (count > 0) {
		ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
		if (sent >= 0) {
			bytes += sent;
			count -= (size_t)sent;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return failure_set_errno(failure, errno, "control connection");
		if (!writable_wait(fd, until_ns))
			return failure_set(failure, "control connection: the peer takes no data");
	}
	return 0;
}

/* The tag stands behind the text; NULL when memory has run out, and the text is freed. */
static char *tag_append(struct auth_channel *channel, char *text, size_t *size)
{
	char *longer = realloc(text, *size + AUTH_TAG_BYTES);
	if (longer == NULL) {
		free(text);
		return NULL;
	}
	auth_channel_tag(channel, longer, *size, (uint8_t *)longer + *size);
	*size += AUTH_TAG_BYTES;
	return longer;
}

int control_send(struct control *control, cJSON *message, struct failure *failure)
{
	uint8_t *frame = NULL;
	size_t length = 0;
	char *text = json_print(message);
	cJSON_Delete(message);
	size_t size = strlen(text);
	if (control->channel != NULL)
		text = tag_append(control->channel, text, &size);
	int status = text != NULL ? frame_encode(text, size, &frame, &length) : -ENOMEM;
	free(text);
	if (status != 0)
		return failure_set_errno(failure, -status, "control message");
	status = bytes_send(control, frame, length, failure);
	free(frame);
	return status;
}

/* The first word of HTTP, SSH and others whose peers talk in text. */
static bool is_text(const uint8_t bytes[FRAME_HEADER_BYTES])
{
	for (unsigned i = 0; i < FRAME_HEADER_BYTES; i++) {
		if (bytes[i] < ' ' || bytes[i] > '~')
			return false;
	}
	return true;
}

static enum control_status decoder_refuse(const struct control *control, int status,
					  struct failure *failure)
{
	uint8_t head[FRAME_HEADER_BYTES];
	(void)wire_put_u32(head, frame_decoder_announced(control->decoder));
	if (status == -EMSGSIZE && is_text(head))
		(void)failure_set(failure,
				  "the peer speaks another protocol than this engine's: it begins "
				  "with '%.4s'",
				  (const char *)head);
	else if (status == -EMSGSIZE)
		(void)failure_set(failure,
				  "the peer announced a control message above %u bytes, or speaks "
				  "another protocol than this engine's",
				  control->limit);
	else if (status == -EBADMSG)
		(void)failure_set(failure, "the peer sent an empty control message");
	else
		(void)failure_set_errno(failure, -status, "control connection");
	return CONTROL_INVALID;
}

int control_feed(struct control *control, const void *bytes, size_t count, struct failure *failure)
{
	int status = frame_decoder_push(control->decoder, bytes, count);
	/* Too much announced: that is said when the message is asked for. */
	return status == 0 || status == -EMSGSIZE
		   ? 0
		   : failure_set_errno(failure, -status, "control connection");
}

/* Bytes of what has come that are the challenge's: its nonce is for data, and of no use here. */
static size_t challenge_skip(struct control *control, const uint8_t *bytes, size_t count)
{
	if (control->challenge_due == 0)
		return 0;
	/* A server of an older version begins with the frame that says so. */
	if (control->challenge_due == CHALLENGE_BYTES && !hello_begins(bytes[0]))
		control->challenge_due = 0;
	size_t skipped = count < control->challenge_due ? count : control->challenge_due;
	memcpy(control->challenge + CHALLENGE_BYTES - control->challenge_due, bytes, skipped);
	control->challenge_due -= (unsigned)skipped;
	return skipped;
}

static int tag_strip(struct control *control, char *payload, size_t *length,
		     struct failure *failure)
{
	if (control->channel == NULL)
		return 0;
	if (*length <= AUTH_TAG_BYTES)
		return failure_set(failure, "control message without its tag");
	*length -= AUTH_TAG_BYTES;
	if (!auth_channel_check(control->channel, payload, *length, (uint8_t *)payload + *length))
		return failure_set(failure, "control message with a wrong tag: it was changed on "
					    "the way");
	payload[*length] = '\0';
	return 0;
}

static enum control_status frame_take(struct control *control, cJSON **message,
				      enum message_type *type, struct failure *failure)
{
	char *payload = NULL;
	size_t length = 0;
	int status = frame_decoder_next(control->decoder, &payload, &length);
	if (status == 0)
		return CONTROL_PENDING;
	if (status < 0)
		return decoder_refuse(control, status, failure);
	status = tag_strip(control, payload, &length, failure);
	if (status == 0)
		status = message_parse(payload, length, message, type, failure);
	free(payload);
	control->unanswered = control->unanswered && status != 0;
	return status == 0 ? CONTROL_MESSAGE : CONTROL_INVALID;
}

/* `error`: an errno, or 0 when the peer ended it in order. */
static enum control_status closed(const struct control *control, int error, struct failure *failure)
{
	if (control->unanswered && (error == 0 || error == ECONNRESET))
		(void)failure_set(failure,
				  "the peer closes where a receiver of this engine would answer");
	else if (error == 0)
		(void)failure_set(failure, "the peer closed the control connection");
	else
		(void)failure_set_errno(failure, error, "control connection");
	return CONTROL_CLOSED;
}

enum control_status control_take(struct control *control, cJSON **message, enum message_type *type,
				 struct failure *failure)
{
	uint8_t bytes[16384];
	for (;;) {
		enum control_status status = frame_take(control, message, type, failure);
		if (status != CONTROL_PENDING)
			return status;
		size_t room = frame_decoder_room(control->decoder);
		ssize_t got =
		    recv(control->fd, bytes, room < sizeof(bytes) ? room : sizeof(bytes), 0);
		if (got > 0) {
			size_t from = challenge_skip(control, bytes, (size_t)got);
			uint8_t nonce[NONCE_BYTES];
			if (from > 0 && control->challenge_due == 0 &&
			    !challenge_decode(control->challenge, nonce)) {
				(void)failure_set(failure,
						  "the peer is of another version: use the same "
						  "build on both ends");
				return CONTROL_INVALID;
			}
			int pushed =
			    frame_decoder_push(control->decoder, bytes + from, (size_t)got - from);
			if (pushed != 0)
				return decoder_refuse(control, pushed, failure);
		} else if (got == 0) {
			return closed(control, 0, failure);
		} else if (errno == EAGAIN) {
			return CONTROL_PENDING;
		} else if (errno != EINTR) {
			return closed(control, errno, failure);
		}
	}
}
