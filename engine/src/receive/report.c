#include "receive/receive.h"

#include "payload/verify_report.h"

static cJSON *stream_json(const struct stream_report *stream, unsigned index)
{
	cJSON *object = cJSON_CreateObject();
	uint64_t duration_ns = stream->last_ns - stream->first_ns;
	json_add_u64(object, "stream", index);
	json_add_u64(object, "bytes", stream->bytes);
	json_add_seconds(object, "duration_s", duration_ns);
	json_add_u64(object, "goodput_bps", goodput_bps(stream->bytes, duration_ns));
	json_add_item(object, "receiver_tcp_info", cJSON_Duplicate(stream->tcp_info, true));
	if (stream->checked)
		json_add_item(object, "verified", verify_report_json(&stream->verified));
	return object;
}

cJSON *receive_report(const struct receive_state *state)
{
	const struct receiver_report *report = &state->report;
	cJSON *object = cJSON_CreateObject();
	json_add_item(object, "engine", engine_json());
	json_add_text(object, "role", "receive");
	json_add_bool(object, "complete", report->complete);
	json_add_text(object, "error", state->failure.set ? state->failure.text : NULL);
	json_add_text(object, "signal", state->signal != 0 ? signal_name(state->signal) : NULL);
	json_add_text(object, "peer", state->peer[0] != '\0' ? state->peer : NULL);
	json_add_text(object, "receive_mode",
		      !state->requested                 ? NULL
		      : request_probes(&state->request) ? NULL
		      : state->request.kind == REQUEST_FILES
			  ? "file"
			  : receive_mode_name(state->request.receive));
	json_add_text(object, "protect",
		      state->requested ? protect_mode_name(state->request.protect) : NULL);
	cJSON *window = json_add_object(object, "window");
	json_add_known(window, "asked_bytes", state->request.window_bytes,
		       state->request.window_bytes != 0);
	json_add_known(window, "receiver_granted_bytes", report->rcvbuf_bytes / 2, state->reported);
	json_add_known(window, "receiver_rcvbuf_bytes", report->rcvbuf_bytes, state->reported);
	json_add_known(object, "start_unix_ns", report->start_unix_ns, state->reported);
	json_add_seconds(object, "duration_s", report->duration_ns);
	json_add_u64(object, "bytes", report->bytes);
	json_add_u64(object, "goodput_bps", goodput_bps(report->bytes, report->duration_ns));
	json_add_u64(object, "packets_received", report->packets_received);
	json_add_item(json_add_object(object, "cpu"), "receiver", cpu_json(&report->cpu));
	json_add_item(json_add_object(object, "hosts"), "receiver",
		      host_usage_json(&report->host, report->bytes));
	if (report->files != NULL)
		json_add_item(object, "files", cJSON_Duplicate(report->files, true));
	cJSON *streams = json_add_array(object, "streams");
	for (unsigned i = 0; i < report->streams; i++)
		(void)cJSON_AddItemToArray(streams, stream_json(&report->stream[i], i));
	return object;
}
