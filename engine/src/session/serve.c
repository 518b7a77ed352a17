#include "session/serve.h"

#include "files/wanted.h"
#include "net/tune.h"
#include "receive/files.h"
#include "send/files.h"
#include "session/loop.h"

#include <stdio.h>
#include <string.h>

#define ALLOWED "/proc/sys/net/ipv4/tcp_allowed_congestion_control"

static bool reads(const struct served_session *session)
{
	return request_client_sends(&session->receive->request);
}

static bool sends(const struct served_session *session)
{
	return request_server_sends(&session->receive->request);
}

/* A client chooses among those that any user of this host may take: it shall load no module. */
static int congestion_check(const struct served_session *session, struct failure *failure)
{
	char allowed[512];
	char one[CONGESTION_NAME_BYTES];
	sysctl_read(ALLOWED, allowed, sizeof(allowed));
	for (unsigned i = 0; i < session->options.asked.streams; i++) {
		bool found = false;
		char words[sizeof(allowed)];
		char *rest = words;
		if (!congestion_of_stream(session->options.congestion, i, one))
			return 0;
		(void)snprintf(words, sizeof(words), "%s", allowed);
		for (char *word = strtok_r(rest, " \n", &rest); word != NULL && !found;
		     word = strtok_r(NULL, " \n", &rest))
			found = strcmp(word, one) == 0;
		if (!found)
			return failure_set(failure,
					   "this server sends with one of '%s', not with '%s' "
					   "(net.ipv4.tcp_allowed_congestion_control)",
					   allowed, one);
	}
	return 0;
}

static int files_list(struct served_session *session, cJSON *request, int root)
{
	unsigned count;
	char *paths[WANTED_LIMIT];
	struct send_state *send = &session->send;
	return wanted_take(request, paths, &count, &send->failure) == 0
		   ? files_prepare_below(send, root, paths, count)
		   : -1;
}

int served_session_prepare(struct served_session *session, cJSON *request, int root)
{
	struct receive_state *receive = session->receive;
	struct send_state *send = &session->send;
	if (!sends(session))
		return 0;
	options_of_request(&receive->request, receive->options, &session->options);
	*send = (struct send_state){
	    .options = &session->options,
	    .waiter = receive->waiter,
	    .control = receive->control,
	    .request = receive->request,
	    .sending = {.payload = {.fd = -1}, .block_bytes = receive->request.block_bytes},
	    .preamble_bytes = CHALLENGE_BYTES};
	int status = congestion_check(session, &send->failure);
	if (status == 0)
		status = session->options.files ? files_list(session, request, root)
						: send_prepare(send);
	if (status != 0)
		(void)failure_set(&receive->failure, "%s", send->failure.text);
	return status;
}

static int send_start(struct served_session *session)
{
	struct receive_state *receive = session->receive;
	struct send_state *send = &session->send;
	send->streams = receive->reverse;
	send->peer_reads = receive->peer_reads;
	/* What the client's buffers are, it says with its result. */
	send->grant.pacing_bps = receive->grant.pacing_bps;
	send->granted = true;
	if (!reads(session)) {
		send->samples = receive->samples;
		send->tcp_info = receive->tcp_info;
	}
	for (unsigned i = 0; i < session->options.asked.streams; i++) {
		if (send_tune(send, i, streams_fd(send->streams, i)) != 0)
			return -1;
	}
	return session->options.files ? 0 : send_choose(send);
}

static int directions_follow(struct served_session *session)
{
	struct receive_state *receive = session->receive;
	struct session both = {.waiter = receive->waiter,
			       .control = receive->control,
			       .send = sends(session) ? &session->send : NULL,
			       .receive = reads(session) ? receive : NULL,
			       .peer_reads = receive->peer_reads};
	if (receive->request.kind == REQUEST_FILES)
		return sends(session) ? files_send(&session->send) : files_receive(receive);
	return session_follow(&both);
}

int served_session_run(struct served_session *session)
{
	struct receive_state *receive = session->receive;
	int status = -1;
	if (control_await(receive->control, receive->options->stall_ns, &receive->failure) != 0)
		return -1;
	if (!sends(session) || send_start(session) == 0)
		status = directions_follow(session);
	if (session->send.failure.set)
		(void)failure_set(&receive->failure, "%s", session->send.failure.text);
	if (receive->signal == 0)
		receive->signal = session->send.signal;
	return status;
}

cJSON *served_session_report(const struct served_session *session)
{
	bool both = sends(session) && reads(session);
	const struct receive_state *receive = session->receive;
	bool begun = session->send.options != NULL;
	cJSON *object = sends(session) && begun && !both ? send_report(&session->send)
							 : receive_report(receive);
	json_add_text(object, "direction", direction_name(receive->request.direction));
	if (sends(session) && !both && begun)
		json_add_text(object, "peer", receive->peer);
	json_add_item(object, "reverse",
		      both && begun ? send_report(&session->send) : cJSON_CreateNull());
	return object;
}

void served_session_deliver(struct served_session *session)
{
	struct failure ignored = {0};
	struct receive_state *receive = session->receive;
	bool begun = session->send.options != NULL && session->send.sampler != NULL;
	if (sends(session) && begun) {
		cJSON *message = message_create(MESSAGE_ACCOUNT);
		json_add_item(message, "account", send_report(&session->send));
		if (control_send(receive->control, message, &ignored) == 0)
			receive_farewell(receive);
	} else if (receive->answer != NULL) {
		if (control_send(receive->control, receive->answer, &ignored) == 0)
			receive_farewell(receive);
		receive->answer = NULL;
	} else if (!sends(session) && receive->reported) {
		receive_deliver(receive);
	} else if (receive->failure.set) {
		(void)control_send(receive->control, error_encode(receive->failure.text), &ignored);
	}
}

void served_session_release(struct served_session *session)
{
	struct host_usage ignored;
	struct send_state *send = &session->send;
	if (send->options == NULL)
		return;
	if (send->streams != NULL) {
		streams_stop(send->streams);
		streams_join(send->streams);
	}
	if (send->meter != NULL)
		host_meter_stop(send->meter, &ignored);
	sampler_destroy(send->sampler);
	receiver_report_clear(&send->report);
	files_send_release(send);
	payload_close(&send->sending.payload);
}
