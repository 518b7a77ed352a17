#include "receive/receive.h"

#include "payload/verify_report.h"

struct goodput receive_stream_goodput(const struct receive_state *state, unsigned index)
{
	const struct stream_report *stream = &state->report.stream[index];
	return (struct goodput){.bytes = stream->bytes,
				.early_bytes = stream->early_bytes,
				.duration_ns = stream->last_ns - stream->first_ns,
				.rtt_us = sampler_look(state->sampler, index)->min_rtt_us};
}

struct goodput receive_goodput(const struct receive_state *state)
{
	const struct receiver_report *report = &state->report;
	struct goodput whole = {.bytes = report->bytes,
				.early_bytes = report->early_bytes,
				.duration_ns = report->duration_ns};
	for (unsigned i = 0; i < report->streams; i++) {
		uint64_t rtt_us = sampler_look(state->sampler, i)->min_rtt_us;
		if (rtt_us != 0 && (whole.rtt_us == 0 || rtt_us < whole.rtt_us))
			whole.rtt_us = rtt_us;
	}
	return whole;
}

static cJSON *stream_json(const struct receive_state *state, unsigned index)
{
	const struct stream_report *stream = &state->report.stream[index];
	struct goodput goodput = receive_stream_goodput(state, index);
	cJSON *object = cJSON_CreateObject();
	json_add_u64(object, "stream", index);
	json_add_u64(object, "bytes", stream->bytes);
	json_add_u64(object, "early_bytes", stream->early_bytes);
	json_add_seconds(object, "duration_s", goodput.duration_ns);
	goodput_add(object, &goodput);
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
	json_add_u64(object, "early_bytes", report->early_bytes);
	struct goodput goodput = receive_goodput(state);
	goodput_add(object, &goodput);
	json_add_u64(object, "packets_received", report->packets_received);
	json_add_item(json_add_object(object, "cpu"), "receiver", cpu_json(&report->cpu));
	json_add_item(json_add_object(object, "hosts"), "receiver",
		      host_usage_json(&report->host, report->bytes));
	if (report->files != NULL)
		json_add_item(object, "files", cJSON_Duplicate(report->files, true));
	cJSON *streams = json_add_array(object, "streams");
	for (unsigned i = 0; i < report->streams; i++)
		(void)cJSON_AddItemToArray(streams, stream_json(state, i));
	return object;
}
