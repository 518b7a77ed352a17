/* Those who have come and have no session yet: who gets a place, and who loses it. */
#pragma once

#include "server/children.h"
#include "server/client.h"

/*
 * A stranger holds a place until the idle timeout at most. So many that a client which is far away
 * still has its own after a round trip: strangers of a thousand networks have two each.
 */
#define PENDING_LIMIT 2048

struct pending_clients {
	bool keyed;     /* clients have to prove a key */
	unsigned limit; /* of places, as descriptors allow; PENDING_LIMIT at most */
	struct client *list[PENDING_LIMIT];    /* in the order of their coming, no gaps */
	struct client *by_site[PENDING_LIMIT]; /* the same: neighbours together, the oldest first */
	unsigned count;
	uint64_t turn; /* of an address, that the queue has come to */
};

/* As many as there are descriptors for, PENDING_LIMIT at most: sessions need some, too. */
unsigned pending_places(void);

/* Behind all others; there must be a place. */
void pending_add(struct pending_clients *pending, struct client *client);
/* Its place closes up; the client itself becomes the caller's. */
struct client *pending_take(struct pending_clients *pending, unsigned index);
/* Where in the list it is; it must be there. */
unsigned pending_index(const struct pending_clients *pending, const struct client *client);
/* When the first of those that are not in the queue has had its time; UINT64_MAX: none is there. */
uint64_t pending_deadline_ns(const struct pending_clients *pending);
/* Into the queue: its turn comes after those that its address has there, or is served with. */
void pending_queue(struct pending_clients *pending, const struct children *children,
		   struct client *client);
/* Clients in the queue. */
unsigned pending_waiting(const struct pending_clients *pending);
/* Who is served next, of those in the queue; the count of the crowd: nobody waits. */
unsigned pending_next(struct pending_clients *pending);
/* How many of the queue are served before that one. */
unsigned pending_before(const struct pending_clients *pending, const struct client *client);
/* Who leaves a queue with one too many: the latest of the network that has most places in it. */
unsigned pending_too_many(const struct pending_clients *pending, const struct client *newcomer);
/*
 * Return NULL if a client from `site` may enter. If that needs an eviction, set *index and *reason
 * (*reason is NULL: no eviction). If it may not enter, return why.
 */
const char *pending_refusal(const struct pending_clients *pending, const struct children *children,
			    const struct in6_addr *site, unsigned per_address, unsigned *index,
			    const char **reason);
