/* Those who have come and have no session yet: who gets a place, and who loses it. */
#ifndef LANDSPEED_SERVER_CROWD_H
#define LANDSPEED_SERVER_CROWD_H

#include "server/children.h"
#include "server/client.h"

/*
 * A stranger holds a place until the idle timeout at most. There are as many as one session may
 * have data connections, which pass through, and some for clients.
 */
#define CROWD_LIMIT (STREAMS_LIMIT + 72)

struct crowd {
	bool keyed;                       /* clients have to prove a key */
	struct client *list[CROWD_LIMIT]; /* in the order of their coming, no gaps */
	unsigned count;
};

/* Its place closes up; the client itself becomes the caller's. */
struct client *crowd_take(struct crowd *crowd, unsigned index);
/* Clients in the queue. */
unsigned crowd_waiting(const struct crowd *crowd);
/*
 * NULL when there is a place for one from there, if need be that of the client at *index, which is
 * to be turned away for *reason (NULL: nobody is). Else why there is none.
 */
const char *crowd_refusal(const struct crowd *crowd, const struct children *children,
			  const struct in6_addr *site, unsigned per_address, unsigned *index,
			  const char **reason);

#endif
