/*
 * A client of a server before its session begins: the handshake and the request, read piece by
 * piece as they come, in the server's one loop. A stranger costs a small struct and no process.
 */
#ifndef LANDSPEED_SERVER_CLIENT_H
#define LANDSPEED_SERVER_CLIENT_H

#include "control/auth.h"
#include "control/control.h"
#include "control/request.h"
#include "net/net.h"

struct client {
	struct control *control;
	struct auth auth;
	bool open; /* the handshake is done */
	struct address address;
	char peer[ADDRESS_TEXT_BYTES];
	uint64_t deadline_ns; /* for the handshake and the request, all in all */
	bool waiting;         /* in the queue, with its request */
	struct request request;
	cJSON *message; /* the request as it came */
};

enum client_status {
	CLIENT_PENDING,   /* more is to come */
	CLIENT_REQUESTED, /* request and message are there */
	CLIENT_FAILED,    /* the failure says why */
};

/* Takes over the connected socket, also when it fails (NULL). */
struct client *client_create(int fd, const struct address *address, const struct key *key,
			     uint64_t deadline_ns, struct failure *failure);
void client_destroy(struct client *client);

/* Call when its socket is readable. */
enum client_status client_read(struct client *client, struct failure *failure);
/* What the client owes, for the message when its time is over. */
const char *client_owes(const struct client *client);
/* Tells the client why, and closes. */
void client_refuse(struct client *client, const char *why);

#endif
