#include "session/client.h"

#include "base/clock.h"
#include "base/output.h"
#include "control/session.h"
#include "receive/files.h"
#include "send/files.h"
#include "session/loop.h"

#include <stdio.h>
#include <stdlib.h>

/* The server has this long for its account once we have told what we read. */
#define ACCOUNT_NS (10 * NS_PER_S)

static bool reads(const struct client_session *session)
{
	return session->send->reverse != NULL;
}

static bool sends(const struct client_session *session)
{
	return session->send->streams != NULL;
}

static int receive_prepare(struct client_session *session)
{
	struct send_state *send = session->send;
	struct receive_state *receive = &session->receive;
	*receive = (struct receive_state){.options = send->options,
					  .waiter = send->waiter,
					  .control = send->control,
					  .request = send->request,
					  .requested = true,
					  .channel = -1,
					  .data_listener = -1,
					  .root = session->root,
					  .streams = send->reverse,
					  .preamble_bytes = CHALLENGE_BYTES};
	if (!sends(session)) {
		receive->samples = send->samples;
		receive->tcp_info = send->tcp_info;
		receive->live = send->live;
		receive->intervals = send->intervals;
	}
	(void)snprintf(receive->peer, sizeof(receive->peer), "%s", send->options->host);
	return tune_buffer(streams_fd(send->reverse, 0), TUNE_RECEIVE, &receive->grant.rcvbuf_bytes,
			   &send->failure);
}

/* What ended one direction is what the run says. */
static void failure_merge(struct client_session *session)
{
	struct send_state *send = session->send;
	struct receive_state *receive = &session->receive;
	if (receive->failure.set)
		(void)failure_set(&send->failure, "%s", receive->failure.text);
	if (send->signal == 0)
		send->signal = receive->signal;
}

/* What the server says at the end; a signal is told, and ends the wait. */
static int word_await(struct send_state *send, enum message_type type, cJSON **message,
		      struct failure *failure)
{
	int signal = 0;
	int status = session_expect(send->waiter, send->control, type, ACCOUNT_NS, message, &signal,
				    failure);
	if (send->signal == 0)
		send->signal = signal;
	return status;
}

/* A direction that the other one's end cut short: what the server read until then comes first. */
static void result_await(struct send_state *send)
{
	cJSON *message;
	struct failure ignored = {0};
	if (word_await(send, MESSAGE_RESULT, &message, &ignored) != 0)
		return;
	send->reported = receiver_report_decode(message, send->options->asked.streams,
						&send->report, &ignored) == 0;
	cJSON_Delete(message);
}

static void account_await(struct client_session *session)
{
	cJSON *message;
	struct failure failure = {0};
	struct send_state *send = session->send;
	if (sends(session) && !send->reported && send->signal == 0)
		result_await(send);
	/* Who was interrupted and heard no result has waited for it, or wants to go. */
	bool leaving = sends(session) && !send->reported && send->signal != 0;
	if (!leaving && word_await(send, MESSAGE_ACCOUNT, &message, &failure) == 0) {
		session->account = cJSON_DetachItemFromObjectCaseSensitive(message, "account");
		cJSON_Delete(message);
	}
	if (!cJSON_IsObject(session->account)) {
		cJSON_Delete(session->account);
		session->account = NULL;
		(void)failure_set(&send->failure, "the server gave no account of what it sent: %s",
				  failure.set ? failure.text
				  : leaving   ? "interrupted"
					      : "it is empty");
	}
	const char *error = json_get_text(session->account, "error");
	if (error != NULL)
		(void)failure_set(&send->failure, "the server: %.400s", error);
}

int client_session_run(struct client_session *session)
{
	struct send_state *send = session->send;
	struct receive_state *receive = &session->receive;
	struct session both = {.waiter = send->waiter,
			       .control = send->control,
			       .send = sends(session) ? send : NULL,
			       .receive = reads(session) ? receive : NULL};
	if (reads(session) && receive_prepare(session) != 0)
		return -1;
	if (sends(session) && send->files == NULL && send_choose(send) != 0)
		return -1;
	if (send->request.kind == REQUEST_FILES)
		(void)(sends(session) ? files_send(send) : files_receive(receive));
	else
		(void)session_follow(&both);
	if (!reads(session))
		return send->failure.set ? -1 : 0;
	failure_merge(session);
	struct failure ignored = {0};
	if (!sends(session) && receive->reported)
		(void)control_send(send->control, receiver_report_encode(&receive->report),
				   &ignored);
	account_await(session);
	return send->failure.set ? -1 : 0;
}

static void member_set(cJSON *object, const char *name, cJSON *item)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	json_add_item(object, name, item);
}

static void number_set(cJSON *object, const char *name, uint64_t value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	json_add_u64(object, name, value);
}

static void seconds_set(cJSON *object, const char *name, uint64_t ns)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	json_add_seconds(object, name, ns);
}

/* What was read is what we read, whatever the server says of it. */
static void goodput_set(cJSON *object, const struct goodput *goodput)
{
	number_set(object, "bytes", goodput->bytes);
	number_set(object, "early_bytes", goodput->early_bytes);
	seconds_set(object, "duration_s", goodput->duration_ns);
	cJSON_DeleteItemFromObjectCaseSensitive(object, "goodput_bps");
	cJSON_DeleteItemFromObjectCaseSensitive(object, "goodput_reason");
	goodput_add(object, goodput);
}

static void stream_correct(cJSON *stream, const struct receive_state *receive, unsigned index)
{
	struct goodput goodput = receive_stream_goodput(receive, index);
	goodput_set(stream, &goodput);
	member_set(stream, "receiver_tcp_info",
		   cJSON_Duplicate(receive->report.stream[index].tcp_info, true));
}

/* Of ours each number is exact, and so text. */
static bool is_number(const cJSON *item)
{
	return cJSON_IsNumber(item) || cJSON_IsRaw(item);
}

static bool same_kind(const cJSON *a, const cJSON *b)
{
	if (cJSON_IsNull(a) || cJSON_IsNull(b) || (cJSON_IsBool(a) && cJSON_IsBool(b)) ||
	    (is_number(a) && is_number(b)))
		return true;
	return (a->type & 0xff) == (b->type & 0xff);
}

/* What became of the files: what we say of it is of this host's disk. */
static cJSON *files_take(const struct client_session *session)
{
	const cJSON *told = cJSON_GetObjectItemCaseSensitive(session->account, "files");
	const cJSON *ours = session->receive.report.files;
	cJSON *files = cJSON_IsObject(told) ? cJSON_Duplicate(told, true) : cJSON_CreateObject();
	cJSON_DeleteItemFromObjectCaseSensitive(files, "receiver");
	json_add_item(files, "receiver",
		      ours != NULL ? cJSON_Duplicate(ours, true) : cJSON_CreateNull());
	if (!cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(files, "outcomes"))) {
		cJSON_DeleteItemFromObjectCaseSensitive(files, "outcomes");
		json_add_item(
		    files, "outcomes",
		    cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(ours, "outcomes"), true));
	}
	return files;
}

/* Of the server's account what a result has, of the kind that it has there. */
static cJSON *account_take(const struct client_session *session)
{
	const cJSON *member;
	cJSON *whole = send_report_unknown(session->send);
	cJSON *object = cJSON_CreateObject();
	cJSON_ArrayForEach(member, whole)
	{
		const cJSON *told =
		    cJSON_GetObjectItemCaseSensitive(session->account, member->string);
		bool fits = told != NULL && same_kind(told, member);
		json_add_item(object, member->string, cJSON_Duplicate(fits ? told : member, true));
	}
	cJSON_Delete(whole);
	if (session->send->request.kind == REQUEST_FILES)
		json_add_item(object, "files", files_take(session));
	cJSON *streams = cJSON_GetObjectItemCaseSensitive(object, "streams");
	int most = (int)session->receive.report.streams;
	for (int i = cJSON_GetArraySize(streams); i-- > 0;) {
		if (i >= most || !cJSON_IsObject(cJSON_GetArrayItem(streams, i)))
			cJSON_DeleteItemFromArray(streams, i);
	}
	return object;
}

static cJSON *account_correct(const struct client_session *session)
{
	unsigned index = 0;
	cJSON *stream;
	const struct receive_state *receive = &session->receive;
	const struct receiver_report *report = &receive->report;
	cJSON *object = account_take(session);
	struct goodput goodput = receive_goodput(receive);
	goodput_set(object, &goodput);
	number_set(object, "packets_received", report->packets_received);
	member_set(object, "bytes_source", cJSON_CreateString("receiver"));
	cJSON_ArrayForEach(stream, cJSON_GetObjectItemCaseSensitive(object, "streams"))
	{
		stream_correct(stream, receive, index++);
	}
	return object;
}

static void verdict_set(cJSON *object, const struct client_session *session)
{
	const struct send_state *send = session->send;
	cJSON_DeleteItemFromObjectCaseSensitive(object, "error");
	json_add_text(object, "error", send->failure.set ? send->failure.text : NULL);
	cJSON_DeleteItemFromObjectCaseSensitive(object, "signal");
	json_add_text(object, "signal", send->signal != 0 ? signal_name(send->signal) : NULL);
	cJSON_DeleteItemFromObjectCaseSensitive(object, "complete");
	json_add_bool(object, "complete",
		      !send->failure.set && (!sends(session) || send->reported));
}

cJSON *client_session_report(const struct client_session *session)
{
	const struct send_state *send = session->send;
	bool reverse_only = reads(session) && !sends(session);
	cJSON *object = reverse_only ? account_correct(session) : send_report(send);
	member_set(object, "direction",
		   cJSON_CreateString(direction_name(send->options->asked.direction)));
	if (reverse_only) {
		member_set(object, "options", send_options_json(send->options));
		verdict_set(object, session);
	}
	cJSON *other = cJSON_CreateNull();
	if (reads(session) && sends(session)) {
		cJSON_Delete(other);
		other = account_correct(session);
		verdict_set(object, session);
	}
	member_set(object, "reverse", other);
	return object;
}

void client_session_tell(const struct client_session *session, FILE *file)
{
	if (sends(session))
		send_tell(session->send, file);
	if (reads(session) && session->receive.reported)
		receive_tell(&session->receive, file);
}

void client_session_summary(const struct client_session *session)
{
	uint64_t retransmits = 0;
	const struct receiver_report *report = &session->receive.report;
	if (reads(session) && session->receive.reported) {
		(void)json_get_u64(session->account, "retransmits", 0, JSON_INTEGER_MAX,
				   &retransmits);
		char rate[160];
		struct goodput goodput = receive_goodput(&session->receive);
		goodput_text(&goodput, rate, sizeof(rate));
		output_note("read from the server, %u stream%s: %.3f GB in %.3f s, %s, %llu "
			    "retransmits",
			    report->streams, report->streams == 1 ? "" : "s",
			    (double)report->bytes / 1e9, (double)report->duration_ns / 1e9, rate,
			    (unsigned long long)retransmits);
	}
	if (report->files != NULL) {
		uint64_t done = 0;
		uint64_t kept = 0;
		(void)json_get_u64(report->files, "files_done", 0, JSON_INTEGER_MAX, &done);
		(void)json_get_u64(report->files, "files_kept", 0, JSON_INTEGER_MAX, &kept);
		output_note("%llu files written and verified, %llu there already",
			    (unsigned long long)done, (unsigned long long)kept);
	}
	send_summary(session->send);
}

void client_session_release(struct client_session *session)
{
	struct host_usage ignored;
	struct receive_state *receive = &session->receive;
	if (receive->streams != NULL) {
		streams_stop(receive->streams);
		streams_join(receive->streams);
	}
	if (receive->meter != NULL)
		host_meter_stop(receive->meter, &ignored);
	sampler_destroy(receive->sampler);
	receiver_report_clear(&receive->report);
	cJSON_Delete(session->account);
	session->account = NULL;
}
