#include "server/crowd.h"

#include "base/number.h"

struct client *crowd_take(struct crowd *crowd, unsigned index)
{
	struct client *client = crowd->list[index];
	crowd->count--;
	for (unsigned i = index; i < crowd->count; i++)
		crowd->list[i] = crowd->list[i + 1];
	return client;
}

unsigned crowd_waiting(const struct crowd *crowd)
{
	unsigned count = 0;
	for (unsigned i = 0; i < crowd->count; i++)
		count += crowd->list[i]->waiting ? 1 : 0;
	return count;
}

static unsigned site_count(const struct crowd *crowd, const struct children *children,
			   const struct in6_addr *site)
{
	unsigned count = children_of_site(children, site);
	for (unsigned i = 0; i < crowd->count; i++)
		count += net_same_site(&crowd->list[i]->site, site) ? 1 : 0;
	return count;
}

/* Has it shown nothing yet that a stranger cannot have? */
static bool is_silent(const struct crowd *crowd, const struct client *client)
{
	return !client->open || (!crowd->keyed && client->message == NULL);
}

/* Those of the site beyond the data connections that its sessions wait for. */
static unsigned silent_count(const struct crowd *crowd, const struct children *children,
			     const struct in6_addr *site)
{
	unsigned count = 0;
	for (unsigned i = 0; i < crowd->count; i++) {
		const struct client *client = crowd->list[i];
		count += is_silent(crowd, client) && net_same_site(&client->site, site) ? 1 : 0;
	}
	return (unsigned)number_above(count, children_awaiting(children, site));
}

/*
 * To make room for a newcomer: of those that have shown nothing yet (of that site, unless NULL) one
 * goes, of the site that has the most of them the oldest. A client that means it answers within a
 * round trip, and has no crowd with it. The count of the crowd: nobody can go.
 */
static unsigned choose(const struct crowd *crowd, const struct children *children,
		       const struct in6_addr *site)
{
	unsigned chosen = crowd->count;
	unsigned most = 0;
	for (unsigned i = 0; i < crowd->count; i++) {
		const struct client *client = crowd->list[i];
		if (!is_silent(crowd, client) ||
		    (site != NULL && !net_same_site(&client->site, site)))
			continue;
		unsigned count = site != NULL ? 1 : silent_count(crowd, children, &client->site);
		if (count > most) {
			most = count;
			chosen = i;
		}
	}
	return chosen;
}

const char *crowd_refusal(const struct crowd *crowd, const struct children *children,
			  const struct in6_addr *site, unsigned per_address, unsigned *index,
			  const char **reason)
{
	static const char site_full[] = "too many connections from this address";
	static const char full[] = "too many connections";
	*reason = NULL;
	if (site_count(crowd, children, site) >= per_address + children_awaiting(children, site)) {
		*index = choose(crowd, children, site);
		*reason = site_full;
	} else if (crowd->count == CROWD_LIMIT) {
		*index = choose(crowd, children, NULL);
		*reason = full;
	}
	return *reason != NULL && *index == crowd->count ? *reason : NULL;
}
