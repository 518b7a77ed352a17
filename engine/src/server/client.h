/*
 * Who has come to the server's port: a client before its session begins, with its handshake and
 * request, or a data connection with its hello, read piece by piece as they come, in the server's
 * one loop. A stranger costs a small struct and no process.
 */
#pragma once

#include "control/auth.h"
#include "control/channel.h"
#include "control/control.h"
#include "control/request.h"
#include "net/net.h"

/* In the queue: by its address's, then by its network's. */
struct turn {
	uint64_t of_site;
	uint64_t of_network;
};

struct client {
	int fd;                  /* -1: the control's */
	struct control *control; /* NULL: it is not known to be one of control */
	struct handover first;   /* challenge, and what may be a hello */
	unsigned used;           /* bytes of that */
	struct auth auth;
	bool open; /* the handshake is done */
	struct address address;
	struct in6_addr site;
	char peer[ADDRESS_TEXT_BYTES];
	uint64_t deadline_ns; /* for the handshake and the request, all in all */
	bool waiting;         /* in the queue, with its request */
	struct turn turn;     /* there */
	struct request request;
	cJSON *message; /* the request as it came */
};

enum client_status {
	CLIENT_PENDING,   /* more is to come */
	CLIENT_CONTROL,   /* it has just shown to be one of control */
	CLIENT_REQUESTED, /* request and message are there */
	CLIENT_DATA,      /* it is a data connection, its hello is there */
	CLIENT_FAILED,    /* the failure says why */
};

/* It has begun a handshake: one of its round trips is behind it. */
bool client_has_greeted(const struct client *client);

/* Challenges it. Takes over the connected socket, also when it fails (NULL). */
struct client *client_create(int fd, const struct address *address, const struct key *key,
			     uint64_t deadline_ns, struct failure *failure);
void client_destroy(struct client *client);

int client_fd(const struct client *client);
/* Call when its socket is readable, and again after CLIENT_CONTROL. */
enum client_status client_read(struct client *client, struct failure *failure);
/* What the client owes, for the message when its time is over. */
const char *client_owes(const struct client *client);
/* Tells the client why, and closes. */
void client_refuse(struct client *client, const char *why);
