#include "server/server.h"

#include "base/clock.h"
#include "base/exits.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/number.h"
#include "base/waiter.h"
#include "server/children.h"
#include "server/pending_clients.h"
#include "server/port.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Newcomers in a step of the loop: a queue of strangers shall not make a client wait. */
#define ACCEPTS 16

_Static_assert(PENDING_LIMIT + CHILDREN_LIMIT <= PEERS_LIMIT, "slots of the waiter");

#define SLOT_PENDING ((unsigned)SLOT_PEERS + CHILDREN_LIMIT)

struct server {
	const struct server_plan *plan;
	struct waiter *waiter;
	struct port port;
	struct pending_clients pending;
	uint32_t sessions; /* so far: the next one's number */
	struct children children;
	bool begun;  /* a session was */
	bool ending; /* takes nobody any more */
	bool failed;
};

static void slots_refresh(struct server *server)
{
	waiter_watch(server->waiter, SLOT_LISTENER, port_listener(&server->port), POLLIN);
	for (unsigned i = 0; i < CHILDREN_LIMIT; i++) {
		if (i < server->children.count)
			waiter_watch(server->waiter, SLOT_PEERS + i,
				     server->children.list[i].channel, POLLIN);
		else
			waiter_forget(server->waiter, SLOT_PEERS + i);
	}
	for (unsigned i = 0; i < PENDING_LIMIT; i++) {
		if (i < server->pending.count)
			waiter_watch(server->waiter, SLOT_PENDING + i,
				     client_fd(server->pending.list[i]), POLLIN);
		else
			waiter_forget(server->waiter, SLOT_PENDING + i);
	}
}

static cJSON *peer_fields(const struct client *client)
{
	cJSON *fields = cJSON_CreateObject();
	json_add_text(fields, "peer", client->peer);
	return fields;
}

static void client_turn_away(struct server *server, unsigned index, const char *why)
{
	struct client *client = pending_take(&server->pending, index);
	log_event("refused", peer_fields(client), "Error: session with %s: %s", client->peer, why);
	client_refuse(client, why);
}

/* In the new process: nothing of the others, then the session. */
static _Noreturn void session_become(struct server *server, struct client *client,
				     const struct child *child, int channel)
{
	const struct server_session session = {.options = server->plan->options,
					       .client = client,
					       .root = server->plan->root,
					       .serve_root = server->plan->serve_root,
					       .channel = channel,
					       .number = child->session,
					       .shares = child->awaits != 0};
	(void)close(server->port.listener);
	children_forget(&server->children);
	for (unsigned i = 0; i < server->pending.count; i++)
		client_destroy(server->pending.list[i]);
	waiter_destroy(server->waiter);
	/* The session's own keys are made already. */
	key_forget(server->plan->key);
	control_inherit(client->control);
	control_trust(client->control, true);
	int status = server->plan->serve(&session);
	client_destroy(client);
	exit(status);
}

/*
 * The data connections of a session come to the server's port, unless they are of another kind, are
 * told to go elsewhere, or would leave the port with a window that it cannot get rid of.
 */
static bool shares_port(const struct server *server, const struct request *request)
{
	return request->kind != REQUEST_THIRD_PARTY && request->kind != REQUEST_DATAGRAMS &&
	       !request->mptcp && server->plan->options->data_port == 0 &&
	       (request->window_bytes == 0 || server->port.flexible);
}

static struct child session_describe(struct server *server, const struct client *client)
{
	const struct request *request = &client->request;
	struct child child = {
	    .address = client->address, .site = client->site, .session = server->sessions++};
	if (!shares_port(server, request))
		return child;
	child.awaits = request_connections(request);
	child.endless = request->probe.fresh;
	if (request_client_sends(request))
		child.windows = (struct windows){.largest_bytes = request->window_bytes,
						 .autotuned = request->window_bytes == 0};
	return child;
}

/* A session's window stands before its client hears where to connect. */
static void window_choose(struct server *server, struct windows more)
{
	struct windows all = windows_join(children_windows(&server->children), more);
	port_set_window(&server->port, all.largest_bytes, all.autotuned);
}

static void session_start(struct server *server, unsigned index)
{
	int channel;
	struct failure failure = {0};
	struct client *client = pending_take(&server->pending, index);
	const struct child child = session_describe(server, client);
	window_choose(server, child.windows);
	pid_t pid = children_fork(&server->children, &child, &channel, &failure);
	if (pid == 0)
		session_become(server, client, &child, channel);
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

static void place_tell(struct server *server, struct client *client)
{
	struct failure failure = {0};
	cJSON *message = queued_encode(pending_before(&server->pending, client) + 1);
	if (control_send(client->control, message, &failure) != 0)
		client_turn_away(server, pending_index(&server->pending, client), failure.text);
}

/* One too many waits: of the network that has most places, who may be the newcomer. */
static void client_squeeze(struct server *server, struct client *client, const char *full)
{
	pending_queue(&server->pending, &server->children, client);
	unsigned leaver = pending_too_many(&server->pending, client);
	bool stays = server->pending.list[leaver] != client;
	client_turn_away(server, leaver,
			 stays ? "others came, who had fewer places in the queue" : full);
	if (stays)
		place_tell(server, client);
}

static void client_decide(struct server *server, unsigned index)
{
	struct failure failure = {0};
	struct client *client = server->pending.list[index];
	const struct server_plan *plan = server->plan;
	/* A session that has just ended says so before its client can come again. */
	children_look(&server->children);
	if (server->ending || (plan->options->one_off && server->begun)) {
		client_turn_away(server, index, "the receiver is busy with another transfer");
		return;
	}
	switch (admission_decide(&plan->admission, &client->request,
				 children_serving(&server->children),
				 pending_waiting(&server->pending), &failure)) {
	case ADMISSION_SERVE:
		session_start(server, index);
		break;
	case ADMISSION_QUEUE:
		pending_queue(&server->pending, &server->children, client);
		place_tell(server, client);
		break;
	case ADMISSION_FULL:
		client_squeeze(server, client, failure.text);
		break;
	case ADMISSION_REFUSE:
	default:
		client_turn_away(server, index, failure.text);
	}
}

/* To the session that it is of. Strangers are dropped without a word. */
static void data_deliver(struct server *server, unsigned index)
{
	struct hello hello;
	struct client *client = pending_take(&server->pending, index);
	const struct child *child =
	    hello_decode(client->first.hello, &hello)
		? children_find(&server->children, hello.session, &client->address)
		: NULL;
	if (child != NULL)
		(void)channel_give(child->channel, client->fd, &client->first);
	client_destroy(client);
}

static void client_look(struct server *server, unsigned index)
{
	struct failure failure = {0};
	struct client *client = server->pending.list[index];
	enum client_status status = client_read(client, &failure);
	if (status == CLIENT_CONTROL) {
		port_disinherit(&server->port, client_fd(client));
		status = client_read(client, &failure);
	}
	switch (status) {
	case CLIENT_PENDING:
		break;
	case CLIENT_DATA:
		data_deliver(server, index);
		break;
	case CLIENT_REQUESTED:
		client_decide(server, index);
		break;
	case CLIENT_CONTROL:
	case CLIENT_FAILED:
	default:
		client_turn_away(server, index, failure.text);
	}
}

static void clients_read(struct server *server)
{
	/* From the end, since one that goes moves those behind it. */
	for (unsigned i = server->pending.count; i-- > 0;) {
		if (waiter_ready(server->waiter, SLOT_PENDING + i))
			client_look(server, i);
	}
}

/* False when nobody is waiting. */
static bool client_accept(struct server *server)
{
	struct address address;
	struct failure failure = {0};
	const struct options *options = server->plan->options;
	int fd = port_accept(&server->port, &address);
	if (fd < 0)
		return false;
	struct client *client =
	    client_create(fd, &address, server->plan->key,
			  clock_monotonic_ns() + options->idle_timeout_ns, &failure);
	if (client == NULL) {
		log_event("error", NULL, "Error: %s", failure.text);
		return true;
	}
	children_look_again(&server->children, &client->site);
	unsigned leaver = 0;
	const char *reason = NULL;
	const char *why = pending_refusal(&server->pending, &server->children, &client->site,
					  options->admission.per_address, &leaver, &reason);
	if (why != NULL) {
		log_event("refused", peer_fields(client), "Error: session with %s: %s",
			  client->peer, why);
		client_refuse(client, why);
		return true;
	}
	if (reason != NULL)
		client_turn_away(server, leaver, reason);
	pending_add(&server->pending, client);
	/* What it has said already may keep its place in a crowd. */
	client_look(server, server->pending.count - 1);
	return true;
}

static void clients_expire(struct server *server)
{
	char why[128];
	uint64_t now_ns = clock_monotonic_ns();
	for (unsigned i = server->pending.count; i-- > 0;) {
		const struct client *client = server->pending.list[i];
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
	while (!server->ending && pending_waiting(&server->pending) != 0 &&
	       children_serving(&server->children) < server->plan->admission.clients)
		session_start(server, pending_next(&server->pending));
}

static int timer_set(struct server *server, struct failure *failure)
{
	uint64_t at_ns =
	    number_least(port_wakes_ns(&server->port), pending_deadline_ns(&server->pending));
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
	window_choose(server, (struct windows){0});
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

static int listening_begin(struct server *server, struct failure *failure)
{
	struct address address;
	char text[ADDRESS_TEXT_BYTES];
	const struct options *options = server->plan->options;
	if (port_open(&server->port, options->bind, options->port, failure) != 0 ||
	    net_local_address(server->port.listener, &address, failure) != 0 ||
	    confine_user(&server->plan->user, failure) != 0)
		return -1;
	/* Whoever sends for third parties reads the file once more. */
	if (options->admission.third_party && access(options->key, R_OK) != 0)
		return failure_set_errno(failure, errno, "--third-party: key file '%s'",
					 options->key);
	bool confined = confine_calls(options->admission.third_party);
	net_address_text(&address, text);
	cJSON *fields = cJSON_CreateObject();
	json_add_text(fields, "address", text);
	json_add_bool(fields, "confined", confined);
	log_event("listening", fields, "listening on %s", text);
	notify_send("READY=1");
	return 0;
}

void server_session_leave(const struct server_session *session)
{
	channel_say(session->channel, CHANNEL_LEAVES);
}

int server_run(const struct server_plan *plan, struct failure *failure)
{
	struct server server = {.plan = plan,
				.port.listener = -1,
				.pending = {.keyed = plan->key != NULL, .limit = pending_places()}};
	int status = -1;
	server.waiter = waiter_create(failure);
	if (server.waiter != NULL && listening_begin(&server, failure) == 0) {
		do {
			status = server_step(&server, failure);
		} while (status == 0 && (!server.ending || server.children.count != 0));
	}
	while (server.pending.count > 0)
		client_refuse(pending_take(&server.pending, 0), "the receiver ends");
	children_end(&server.children);
	port_close(&server.port);
	waiter_destroy(server.waiter);
	return status == 0 && !server.failed ? 0 : EXIT_FAILED;
}
