#include "server/server.h"

#include "base/clock.h"
#include "base/exits.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/waiter.h"
#include "server/children.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Clients before their session: a stranger holds a place until the idle timeout at most. */
#define CLIENTS_LIMIT 72
/* Newcomers in a step of the loop: a queue of strangers shall not make a client wait. */
#define ACCEPTS 16

_Static_assert(CLIENTS_LIMIT + CHILDREN_LIMIT <= PEERS_LIMIT, "slots of the waiter");

struct server {
	const struct server_plan *plan;
	struct waiter *waiter;
	int listener;
	struct client *clients[CLIENTS_LIMIT]; /* in the order of their coming, no gaps */
	unsigned client_count;
	struct children children;
	bool begun;  /* a session was */
	bool ending; /* takes nobody any more */
	bool failed;
};

static void slots_refresh(struct server *server)
{
	for (unsigned i = 0; i < CLIENTS_LIMIT; i++) {
		if (i < server->client_count)
			waiter_watch(server->waiter, SLOT_PEERS + i,
				     control_fd(server->clients[i]->control), POLLIN);
		else
			waiter_forget(server->waiter, SLOT_PEERS + i);
	}
	for (unsigned i = 0; i < CHILDREN_LIMIT; i++) {
		if (i < server->children.count)
			waiter_watch(server->waiter, SLOT_PEERS + CLIENTS_LIMIT + i,
				     server->children.list[i].report_fd, POLLIN);
		else
			waiter_forget(server->waiter, SLOT_PEERS + CLIENTS_LIMIT + i);
	}
}

/* The client's place closes up; the client itself stays the caller's. */
static struct client *client_take(struct server *server, unsigned index)
{
	struct client *client = server->clients[index];
	server->client_count--;
	for (unsigned i = index; i < server->client_count; i++)
		server->clients[i] = server->clients[i + 1];
	return client;
}

static cJSON *peer_fields(const struct client *client)
{
	cJSON *fields = cJSON_CreateObject();
	json_add_text(fields, "peer", client->peer);
	return fields;
}

static void client_turn_away(struct server *server, unsigned index, const char *why)
{
	struct client *client = client_take(server, index);
	log_event("refused", peer_fields(client), "Error: session with %s: %s", client->peer, why);
	client_refuse(client, why);
}

static unsigned site_count(const struct server *server, const struct address *address)
{
	unsigned count = children_of_site(&server->children, address);
	for (unsigned i = 0; i < server->client_count; i++)
		count += net_same_site(&server->clients[i]->address, address) ? 1 : 0;
	return count;
}

/* Has it shown nothing yet that a stranger cannot have? */
static bool is_silent(const struct server *server, const struct client *client)
{
	return !client->open || (server->plan->key == NULL && client->message == NULL);
}

static unsigned silent_count(const struct server *server, const struct address *site)
{
	unsigned count = 0;
	for (unsigned i = 0; i < server->client_count; i++) {
		const struct client *client = server->clients[i];
		count += is_silent(server, client) && net_same_site(&client->address, site) ? 1 : 0;
	}
	return count;
}

/*
 * Makes room for a newcomer: of those that have shown nothing yet (of that site, unless NULL) one
 * goes, of the site that has the most of them the oldest. A client that means it answers within a
 * round trip, and has no crowd with it.
 */
static bool place_free(struct server *server, const struct address *site, const char *why)
{
	unsigned chosen = 0;
	unsigned most = 0;
	for (unsigned i = 0; i < server->client_count; i++) {
		const struct client *client = server->clients[i];
		if (!is_silent(server, client) ||
		    (site != NULL && !net_same_site(&client->address, site)))
			continue;
		unsigned count = site != NULL ? 1 : silent_count(server, &client->address);
		if (count > most) {
			most = count;
			chosen = i;
		}
	}
	if (most != 0)
		client_turn_away(server, chosen, why);
	return most != 0;
}

/* NULL when there is a place for a client from there. */
static const char *place_refusal(struct server *server, const struct address *address)
{
	static const char site_full[] = "too many connections from this address";
	static const char full[] = "too many connections";
	if (site_count(server, address) >= server->plan->admission.per_address &&
	    !place_free(server, address, site_full))
		return site_full;
	if (server->client_count == CLIENTS_LIMIT && !place_free(server, NULL, full))
		return full;
	return NULL;
}

/* In the new process: nothing of the others, then the session. */
static _Noreturn void session_become(struct server *server, struct client *client, int report_fd)
{
	const struct server_session session = {.options = server->plan->options,
					       .key = server->plan->key,
					       .client = client,
					       .root = server->plan->root,
					       .serve_root = server->plan->serve_root,
					       .report_fd = report_fd};
	(void)close(server->listener);
	children_forget(&server->children);
	for (unsigned i = 0; i < server->client_count; i++)
		client_destroy(server->clients[i]);
	waiter_destroy(server->waiter);
	int status = server->plan->serve(&session);
	client_destroy(client);
	exit(status);
}

static void session_start(struct server *server, unsigned index)
{
	int report_fd;
	struct failure failure = {0};
	struct client *client = client_take(server, index);
	pid_t pid = children_fork(&server->children, &client->address, &report_fd, &failure);
	if (pid == 0)
		session_become(server, client, report_fd);
	if (pid < 0) {
		log_event("error", peer_fields(client), "Error: session with %s: %s", client->peer,
			  failure.text);
		client_refuse(client, failure.text);
		return;
	}
	server->begun = true;
	if (log_is_json())
		log_event("session", peer_fields(client), "session with %s", client->peer);
	/* Only our copy of the socket: the session goes on with its own. */
	client_destroy(client);
}

static unsigned waiting_count(const struct server *server)
{
	unsigned count = 0;
	for (unsigned i = 0; i < server->client_count; i++)
		count += server->clients[i]->waiting ? 1 : 0;
	return count;
}

static bool client_queue(struct server *server, struct client *client, struct failure *failure)
{
	cJSON *message = message_create(MESSAGE_QUEUED);
	json_add_u64(message, "place", waiting_count(server) + 1);
	client->waiting = true;
	return control_send(client->control, message, failure) == 0;
}

static void client_decide(struct server *server, unsigned index)
{
	struct failure failure = {0};
	struct client *client = server->clients[index];
	const struct server_plan *plan = server->plan;
	/* A session that has just ended says so before its client can come again. */
	children_look(&server->children);
	if (server->ending || (plan->options->one_off && server->begun)) {
		client_turn_away(server, index, "the receiver is busy with another transfer");
		return;
	}
	switch (admission_decide(&plan->admission, &client->request,
				 children_serving(&server->children), waiting_count(server),
				 &failure)) {
	case ADMISSION_SERVE:
		session_start(server, index);
		break;
	case ADMISSION_QUEUE:
		if (client_queue(server, client, &failure))
			break;
		/* fallthrough */
	case ADMISSION_REFUSE:
	default:
		client_turn_away(server, index, failure.text);
	}
}

static void client_look(struct server *server, unsigned index)
{
	struct failure failure = {0};
	switch (client_read(server->clients[index], &failure)) {
	case CLIENT_PENDING:
		break;
	case CLIENT_REQUESTED:
		client_decide(server, index);
		break;
	case CLIENT_FAILED:
	default:
		client_turn_away(server, index, failure.text);
	}
}

static void clients_read(struct server *server)
{
	/* From the end, since one that goes moves those behind it. */
	for (unsigned i = server->client_count; i-- > 0;) {
		if (waiter_ready(server->waiter, SLOT_PEERS + i))
			client_look(server, i);
	}
}

/* False when nobody is waiting. */
static bool client_accept(struct server *server)
{
	struct address address;
	struct failure failure = {0};
	const struct options *options = server->plan->options;
	int fd = net_accept(server->listener, &address);
	if (fd < 0)
		return false;
	struct client *client =
	    client_create(fd, &address, server->plan->key,
			  clock_monotonic_ns() + options->idle_timeout_ns, &failure);
	if (client == NULL) {
		log_event("error", NULL, "Error: %s", failure.text);
		return true;
	}
	const char *why = place_refusal(server, &address);
	if (why != NULL) {
		log_event("refused", peer_fields(client), "Error: session with %s: %s",
			  client->peer, why);
		client_refuse(client, why);
		return true;
	}
	server->clients[server->client_count++] = client;
	/* What it has said already may keep its place in a crowd. */
	client_look(server, server->client_count - 1);
	return true;
}

static void clients_expire(struct server *server)
{
	char why[128];
	uint64_t now_ns = clock_monotonic_ns();
	for (unsigned i = server->client_count; i-- > 0;) {
		const struct client *client = server->clients[i];
		if (client->waiting || client->deadline_ns > now_ns)
			continue;
		(void)snprintf(why, sizeof(why), "no '%s' from the peer within %.3g s",
			       client_owes(client),
			       (double)server->plan->options->idle_timeout_ns / 1e9);
		client_turn_away(server, i, why);
	}
}

static void queue_serve(struct server *server)
{
	for (unsigned i = 0; i < server->client_count && !server->ending;) {
		if (!server->clients[i]->waiting ||
		    children_serving(&server->children) >= server->plan->admission.clients)
			i++;
		else
			session_start(server, i);
	}
}

static int timer_set(struct server *server, struct failure *failure)
{
	uint64_t at_ns = UINT64_MAX;
	for (unsigned i = 0; i < server->client_count; i++) {
		const struct client *client = server->clients[i];
		if (!client->waiting && client->deadline_ns < at_ns)
			at_ns = client->deadline_ns;
	}
	return at_ns != UINT64_MAX ? waiter_arm(server->waiter, at_ns, failure)
				   : waiter_disarm(server->waiter, failure);
}

static void server_interrupt(struct server *server)
{
	int signal = waiter_take_signal(server->waiter);
	if (!server->ending)
		notify_send("STOPPING=1");
	server->ending = true;
	children_signal(&server->children, signal);
	if (!server->plan->options->one_off || server->begun)
		return;
	/* It was started for one transfer and saw none. */
	server->failed = true;
	server->plan->unserved(server->plan->options, signal);
}

static int server_step(struct server *server, struct failure *failure)
{
	slots_refresh(server);
	if (timer_set(server, failure) != 0 || waiter_wait(server->waiter, failure) != 0)
		return -1;
	if (waiter_ready(server->waiter, SLOT_SIGNAL))
		server_interrupt(server);
	clients_read(server);
	clients_expire(server);
	struct children_fates fates = {0};
	children_reap(&server->children, &fates);
	/* A session that failed of itself is no failure of a server that goes on without it. */
	if (server->plan->options->one_off ? fates.failed : server->ending && fates.cut_short)
		server->failed = true;
	for (unsigned i = 0; waiter_ready(server->waiter, SLOT_LISTENER) && i < ACCEPTS; i++) {
		if (!client_accept(server))
			break;
	}
	queue_serve(server);
	if (server->plan->options->one_off && server->begun && server->children.count == 0)
		server->ending = true;
	return 0;
}

static int listener_open(struct server *server, struct failure *failure)
{
	struct address address;
	char text[ADDRESS_TEXT_BYTES];
	const struct options *options = server->plan->options;
	server->listener = notify_listener(failure);
	if (server->listener == -1)
		server->listener = net_listen_on(options->bind, options->port, failure);
	if (server->listener < 0 || net_local_address(server->listener, &address, failure) != 0)
		return -1;
	net_address_text(&address, text);
	cJSON *fields = cJSON_CreateObject();
	json_add_text(fields, "address", text);
	log_event("listening", fields, "listening on %s", text);
	notify_send("READY=1");
	return 0;
}

void server_session_leave(const struct server_session *session)
{
	/* If it fails the server learns it from our end. */
	ssize_t written = write(session->report_fd, ".", 1);
	(void)written;
}

int server_run(const struct server_plan *plan, struct failure *failure)
{
	struct server server = {.plan = plan, .listener = -1};
	int status = -1;
	server.waiter = waiter_create(failure);
	if (server.waiter != NULL && listener_open(&server, failure) == 0) {
		waiter_watch(server.waiter, SLOT_LISTENER, server.listener, POLLIN);
		do {
			status = server_step(&server, failure);
		} while (status == 0 && (!server.ending || server.children.count != 0));
	}
	while (server.client_count > 0)
		client_refuse(client_take(&server, 0), "the receiver ends");
	children_end(&server.children);
	if (server.listener >= 0)
		(void)close(server.listener);
	waiter_destroy(server.waiter);
	return status == 0 && !server.failed ? 0 : EXIT_FAILED;
}
