#include "server/pending_clients.h"

#include "base/descriptors.h"
#include "base/number.h"

#include <sodium.h>
#include <string.h>

/* Where those begin in by_site that stand behind that site's. */
static unsigned site_end(const struct pending_clients *pending, const struct in6_addr *site)
{
	unsigned low = 0;
	unsigned high = pending->count;
	while (low < high) {
		unsigned middle = (low + high) / 2;
		if (memcmp(&pending->by_site[middle]->site, site, sizeof(*site)) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

unsigned pending_places(void)
{
	return (unsigned)number_least(descriptors_for_strangers(CHILDREN_LIMIT), PENDING_LIMIT);
}

void pending_add(struct pending_clients *pending, struct client *client)
{
	unsigned at = site_end(pending, &client->site);
	memmove(&pending->by_site[at + 1], &pending->by_site[at],
		(pending->count - at) * sizeof(struct client *));
	pending->by_site[at] = client;
	pending->list[pending->count++] = client;
}

static void list_remove(struct client **list, unsigned count, unsigned index)
{
	memmove(&list[index], &list[index + 1], (count - index - 1) * sizeof(struct client *));
}

struct client *pending_take(struct pending_clients *pending, unsigned index)
{
	struct client *client = pending->list[index];
	unsigned at = site_end(pending, &client->site) - 1;
	while (pending->by_site[at] != client)
		at--;
	list_remove(pending->list, pending->count, index);
	list_remove(pending->by_site, pending->count, at);
	pending->count--;
	return client;
}

uint64_t pending_deadline_ns(const struct pending_clients *pending)
{
	uint64_t at_ns = UINT64_MAX;
	for (unsigned i = 0; i < pending->count; i++) {
		const struct client *client = pending->list[i];
		if (!client->waiting)
			at_ns = number_least(at_ns, client->deadline_ns);
	}
	return at_ns;
}

unsigned pending_waiting(const struct pending_clients *pending)
{
	unsigned count = 0;
	for (unsigned i = 0; i < pending->count; i++)
		count += pending->list[i]->waiting ? 1 : 0;
	return count;
}

static unsigned site_count(const struct pending_clients *pending, const struct children *children,
			   const struct in6_addr *site)
{
	unsigned count = children_of_site(children, site);
	for (unsigned i = 0; i < pending->count; i++)
		count += net_same_site(&pending->list[i]->site, site) ? 1 : 0;
	return count;
}

/* Those who may go, by what they have shown; each kind in the order of by_site. */
struct candidates {
	struct client *list[PENDING_LIMIT];
	unsigned count;
};

/* Has it shown nothing yet that a stranger cannot have? */
static bool is_unproved(const struct pending_clients *pending, const struct client *client)
{
	return !client->open || (!pending->keyed && client->message == NULL);
}

/* Of each site those beyond the data connections that its sessions wait for. */
static void candidates_find(const struct pending_clients *pending, const struct children *children,
			    const struct in6_addr *site, bool greeted, struct candidates *found)
{
	unsigned first = 0; /* of this site, among the found */
	found->count = 0;
	for (unsigned i = 0; i < pending->count; i++) {
		struct client *client = pending->by_site[i];
		if ((site == NULL || net_same_site(&client->site, site)) &&
		    is_unproved(pending, client) && client_has_greeted(client) == greeted)
			found->list[found->count++] = client;
		if (i + 1 < pending->count &&
		    net_same_site(&client->site, &pending->by_site[i + 1]->site))
			continue;
		unsigned here = found->count - first;
		if (here > 0 && !greeted)
			here = (unsigned)number_above(here,
						      children_awaiting(children, &client->site));
		found->count = first += here;
	}
}

/*
 * Leaves those of the network that has the most of them; of several such, of that which `dear` is
 * in, else of any one.
 */
static void network_choose(struct candidates *from, unsigned level, const struct client *dear)
{
	unsigned best = 0;
	unsigned most = 0;
	unsigned equals = 0;
	for (unsigned first = 0, end = 1; end <= from->count; end++) {
		if (end < from->count &&
		    net_same_network(&from->list[first]->site, &from->list[end]->site, level))
			continue;
		equals = end - first > most ? 1 : equals + (end - first == most ? 1 : 0);
		bool its =
		    dear != NULL && net_same_network(&from->list[first]->site, &dear->site, level);
		bool chosen = dear != NULL ? its : randombytes_uniform(equals) == 0;
		if (end - first > most || (end - first == most && chosen))
			best = first;
		most = end - first > most ? end - first : most;
		first = end;
	}
	memmove(from->list, &from->list[best], most * sizeof(struct client *));
	from->count = most;
}

unsigned pending_index(const struct pending_clients *pending, const struct client *client)
{
	unsigned index = 0;
	while (pending->list[index] != client)
		index++;
	return index;
}

/*
 * To make room for a newcomer one goes of those that have proved nothing: of the silent, or of
 * those that have greeted, of whom there are more, so that neither kind takes the other's places;
 * of that site (NULL: of any) the oldest, else of the network that has the most of them one at
 * random: nobody can count on a time, and who means it has no crowd beside him. The count of the
 * crowd: nobody can go.
 */
static unsigned choose(const struct pending_clients *pending, const struct children *children,
		       const struct in6_addr *site)
{
	struct candidates silent;
	struct candidates greeted;
	candidates_find(pending, children, site, false, &silent);
	candidates_find(pending, children, site, true, &greeted);
	struct candidates *from = greeted.count > silent.count ? &greeted : &silent;
	if (from->count == 0)
		return pending->count;
	if (site != NULL)
		return pending_index(pending, from->list[0]);
	for (unsigned level = 0; level < NETWORK_LEVELS; level++)
		network_choose(from, level, NULL);
	return pending_index(pending, from->list[randombytes_uniform(from->count)]);
}

/*
 * Turns are given once: one that were counted anew at each service would put the next one of the
 * address that was just served before all who came later. A newcomer has at least the turn that the
 * queue has come to, so that nobody who waits is passed for ever.
 */
void pending_queue(struct pending_clients *pending, const struct children *children,
		   struct client *client)
{
	struct turn turn = {.of_site = pending->turn + children_of_site(children, &client->site)};
	for (unsigned i = 0; i < pending->count; i++) {
		const struct client *other = pending->list[i];
		turn.of_site +=
		    other->waiting && net_same_site(&other->site, &client->site) ? 1 : 0;
		turn.of_network +=
		    other->waiting && net_same_network(&other->site, &client->site, 0) ? 1 : 0;
	}
	client->turn = turn;
	client->waiting = true;
}

/* Of equals whoever came first. */
static bool comes_before(const struct client *a, const struct client *b)
{
	return a->turn.of_site != b->turn.of_site ? a->turn.of_site < b->turn.of_site
						  : a->turn.of_network < b->turn.of_network;
}

unsigned pending_next(struct pending_clients *pending)
{
	unsigned first = pending->count;
	for (unsigned i = 0; i < pending->count; i++) {
		const struct client *client = pending->list[i];
		if (client->waiting &&
		    (first == pending->count || comes_before(client, pending->list[first])))
			first = i;
	}
	if (first < pending->count)
		pending->turn = pending->list[first]->turn.of_site;
	return first;
}

unsigned pending_before(const struct pending_clients *pending, const struct client *client)
{
	unsigned before = 0;
	unsigned index = pending_index(pending, client);
	for (unsigned i = 0; i < pending->count; i++) {
		const struct client *other = pending->list[i];
		bool first =
		    comes_before(other, client) || (!comes_before(client, other) && i < index);
		before += other->waiting && first ? 1 : 0;
	}
	return before;
}

unsigned pending_too_many(const struct pending_clients *pending, const struct client *newcomer)
{
	struct candidates waiting = {.count = 0};
	for (unsigned i = 0; i < pending->count; i++) {
		if (pending->by_site[i]->waiting)
			waiting.list[waiting.count++] = pending->by_site[i];
	}
	for (unsigned level = 0; level < NETWORK_LEVELS; level++)
		network_choose(&waiting, level, newcomer);
	return pending_index(pending, waiting.list[waiting.count - 1]);
}

const char *pending_refusal(const struct pending_clients *pending, const struct children *children,
			    const struct in6_addr *site, unsigned per_address, unsigned *index,
			    const char **reason)
{
	static const char site_full[] = "too many connections from this address";
	static const char full[] = "too many connections";
	*reason = NULL;
	if (site_count(pending, children, site) >=
	    per_address + children_awaiting(children, site)) {
		*index = choose(pending, children, site);
		*reason = site_full;
	} else if (pending->count >= pending->limit) {
		*index = choose(pending, children, NULL);
		*reason = full;
	}
	return *reason != NULL && *index == pending->count ? *reason : NULL;
}
