#include "server/client.h"

#include "control/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct client *client_create(int fd, const struct address *address, const struct key *key,
			     uint64_t deadline_ns, struct failure *failure)
{
	uint8_t challenge[CHALLENGE_BYTES];
	struct client *client = calloc(1, sizeof(*client));
	if (client == NULL) {
		(void)close(fd);
		(void)failure_set(failure, "out of memory");
		return NULL;
	}
	client->fd = fd;
	challenge_make(client->first.nonce, challenge);
	/* Fits whole into the empty buffer of a new connection; of one that broke, reading tells.
	 */
	ssize_t sent = send(fd, challenge, sizeof(challenge), MSG_NOSIGNAL);
	(void)sent;
	auth_start(&client->auth, AUTH_SERVER, key, NULL);
	client->address = *address;
	client->site = net_site(address);
	client->deadline_ns = deadline_ns;
	net_address_text(address, client->peer);
	return client;
}

void client_destroy(struct client *client)
{
	if (client == NULL)
		return;
	control_destroy(client->control);
	if (client->fd >= 0)
		(void)close(client->fd);
	cJSON_Delete(client->message);
	auth_forget(&client->auth);
	free(client);
}

static enum client_status handshake_step(struct client *client, const cJSON *message,
					 enum message_type type, struct failure *failure)
{
	cJSON *answer = NULL;
	enum auth_status status = auth_take(&client->auth, message, type, &answer, failure);
	/* A few hundred bytes into an empty buffer: this cannot block. */
	if (answer != NULL && control_send(client->control, answer, failure) != 0)
		return CLIENT_FAILED;
	if (status == AUTH_FAILED)
		return CLIENT_FAILED;
	if (status == AUTH_OPEN) {
		client->open = true;
		control_limit(client->control,
			      client->auth.key != NULL ? FRAME_LIMIT_BYTES : FRAME_REQUEST_BYTES);
		int secured = control_secure(client->control, &client->auth.channel, failure);
		auth_forget(&client->auth);
		return secured == 0 ? CLIENT_PENDING : CLIENT_FAILED;
	}
	return CLIENT_PENDING;
}

static enum client_status message_take(struct client *client, cJSON *message,
				       enum message_type type, struct failure *failure)
{
	enum client_status status = CLIENT_FAILED;
	if (!client->open) {
		status = handshake_step(client, message, type, failure);
	} else if (type != MESSAGE_REQUEST || client->message != NULL) {
		(void)failure_set(failure, "the peer sent '%s' where it does not belong",
				  message_type_name(type));
	} else if (request_decode(message, &client->request, failure) == 0) {
		client->message = message;
		return CLIENT_REQUESTED;
	}
	cJSON_Delete(message);
	return status;
}

int client_fd(const struct client *client)
{
	return client->control != NULL ? control_fd(client->control) : client->fd;
}

static int control_become(struct client *client, struct failure *failure)
{
	int fd = client->fd;
	client->fd = -1;
	client->control = control_create(fd, failure);
	return client->control != NULL
		   ? control_feed(client->control, client->first.hello, client->used, failure)
		   : -1;
}

/* What it is, by its first bytes; a hello to its end. */
static enum client_status first_read(struct client *client, struct failure *failure)
{
	uint8_t *hello = client->first.hello;
	ssize_t got;
	do {
		got = recv(client->fd, hello + client->used, HELLO_BYTES - client->used, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0 && errno == EAGAIN)
		return CLIENT_PENDING;
	if (got == 0)
		(void)failure_set(failure, "the peer closed the connection");
	if (got < 0)
		(void)failure_set_errno(failure, errno, "connection");
	if (got <= 0)
		return CLIENT_FAILED;
	client->used += (unsigned)got;
	if (!hello_begins(hello[0]))
		return control_become(client, failure) == 0 ? CLIENT_CONTROL : CLIENT_FAILED;
	return client->used < HELLO_BYTES ? CLIENT_PENDING : CLIENT_DATA;
}

enum client_status client_read(struct client *client, struct failure *failure)
{
	if (client->control == NULL)
		return first_read(client, failure);
	enum client_status status = CLIENT_PENDING;
	while (status == CLIENT_PENDING) {
		cJSON *message = NULL;
		enum message_type type;
		switch (control_take(client->control, &message, &type, failure)) {
		case CONTROL_PENDING:
			return CLIENT_PENDING;
		case CONTROL_MESSAGE:
			status = message_take(client, message, type, failure);
			break;
		case CONTROL_CLOSED:
		case CONTROL_INVALID:
		default:
			return CLIENT_FAILED;
		}
	}
	return status;
}

bool client_has_greeted(const struct client *client)
{
	return client->control != NULL &&
	       (client->open || client->auth.expected != MESSAGE_GREETING);
}

const char *client_owes(const struct client *client)
{
	return message_type_name(client->open ? MESSAGE_REQUEST : client->auth.expected);
}

void client_refuse(struct client *client, const char *why)
{
	struct failure ignored = {0};
	if (client->control != NULL || control_become(client, &ignored) == 0)
		(void)control_send(client->control, error_encode(why), &ignored);
	client_destroy(client);
}
