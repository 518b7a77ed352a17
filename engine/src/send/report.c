#include "base/clock.h"
#include "base/output.h"
#include "net/window.h"
#include "payload/verify_report.h"
#include "send/files.h"
#include "send/send.h"

#include <stdio.h>
#include <string.h>

struct totals {
	uint64_t retransmits;
	uint64_t bytes_retransmitted;
	uint64_t packets_sent;
	struct goodput goodput;
	struct window_facts window;
};

static uint64_t largest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smallest_known(uint64_t a, uint64_t b)
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

static void totals_add(const struct send_state *state, unsigned index, struct totals *totals)
{
	const struct sampler_view *view = sampler_look(state->sampler, index);
	const struct tcp_info_raw *raw = &view->info.raw;
	struct window_facts *window = &totals->window;
	totals->retransmits += raw->total_retrans;
	totals->bytes_retransmitted += raw->bytes_retrans;
	totals->packets_sent += raw->segs_out;
	window->min_rtt_us = smallest_known(window->min_rtt_us, view->min_rtt_us);
	window->advertised_bytes = largest(window->advertised_bytes, view->max_snd_wnd);
	struct goodput goodput = send_stream_goodput(state, index);
	window->stream_goodput_bps = largest(window->stream_goodput_bps, goodput_bps(&goodput));
	window->srtt_us = smallest_known(window->srtt_us, raw->rtt);
	window->busy_us += raw->busy_time;
	window->rwnd_limited_us += raw->rwnd_limited;
	window->sndbuf_limited_us += raw->sndbuf_limited;
}

static struct totals totals_make(const struct send_state *state)
{
	struct totals totals = {.window = {.asked_bytes = state->options->asked.window_bytes,
					   .sndbuf_bytes = state->sndbuf_bytes,
					   .rcvbuf_bytes = state->reported
							       ? state->report.rcvbuf_bytes
							       : state->grant.rcvbuf_bytes}};
	if (state->sampler == NULL || state->start_ns == 0)
		return totals;
	for (unsigned i = 0; i < state->options->asked.streams; i++)
		totals_add(state, i, &totals);
	totals.goodput = send_goodput(state);
	totals.window.goodput_bps = goodput_bps(&totals.goodput);
	return totals;
}

cJSON *send_options_json(const struct options *options)
{
	cJSON *used = cJSON_CreateObject();
	json_add_text(used, "host", options->host);
	json_add_u64(used, "port", options->port);
	json_add_u64(used, "streams", options->asked.streams);
	json_add_known(used, "window_bytes", options->asked.window_bytes,
		       options->asked.window_bytes != 0);
	json_add_text(used, "congestion", options->congestion);
	json_add_known(used, "bytes", options->asked.bytes, options->asked.bytes != 0);
	if (options->asked.duration_ns != 0)
		json_add_seconds(used, "time_s", options->asked.duration_ns);
	else
		json_add_text(used, "time_s", NULL);
	json_add_text(used, "receive", receive_mode_name(options->asked.receive));
	json_add_seconds(used, "interval_s", options->interval_ns);
	json_add_known(used, "pacing_bps", options->asked.settings.pacing_bps,
		       options->asked.settings.pacing_bps != 0);
	json_add_seconds(used, "stagger_s", options->asked.settings.stagger_ns);
	json_add_text(used, "samples", options->samples);
	return used;
}

static void window_add(cJSON *object, const struct send_state *state, const struct totals *totals)
{
	char warning[768];
	const struct window_facts *facts = &totals->window;
	bool asked = facts->asked_bytes != 0;
	cJSON *window = json_add_object(object, "window");
	json_add_known(window, "asked_bytes", facts->asked_bytes, asked);
	/* Half of what is read back compares with what was asked. */
	json_add_known(window, "sender_granted_bytes",
		       window_sender_grant(facts->asked_bytes, facts->sndbuf_bytes),
		       state->sndbuf_bytes != 0);
	json_add_known(window, "receiver_granted_bytes", facts->rcvbuf_bytes / 2,
		       facts->rcvbuf_bytes != 0);
	json_add_known(window, "sender_sndbuf_bytes", facts->sndbuf_bytes,
		       state->sndbuf_bytes != 0);
	json_add_known(window, "receiver_rcvbuf_bytes", facts->rcvbuf_bytes,
		       facts->rcvbuf_bytes != 0);
	json_add_known(window, "advertised_bytes", facts->advertised_bytes,
		       facts->advertised_bytes != 0);
	json_add_u64(window, "bdp_bytes", window_bdp_bytes(facts->goodput_bps, facts->min_rtt_us));
	json_add_u64(window, "stream_bdp_bytes",
		     window_bdp_bytes(facts->stream_goodput_bps, facts->min_rtt_us));
	warning[0] = '\0';
	if (state->granted && state->sndbuf_bytes != 0)
		window_warning(facts, warning, sizeof(warning));
	json_add_text(window, "warning", warning[0] != '\0' ? warning : NULL);
}

/* Of MPTCP: what each subflow carried, the first one first. */
static void subflows_json(const struct tcp_info *info, cJSON *array)
{
	for (unsigned i = 0; i < info->subflows; i++) {
		const struct subflow_info *subflow = &info->subflow[i];
		cJSON *object = cJSON_CreateObject();
		json_add_u64(object, "bytes", subflow->bytes_acked);
		json_add_u64(object, "retransmits", subflow->retransmits);
		json_add_known(object, "min_rtt_us", subflow->min_rtt_us, subflow->min_rtt_us != 0);
		json_add_u64(object, "srtt_us", subflow->rtt_us);
		cJSON_AddItemToArray(array, object);
	}
}

static cJSON *stream_json(const struct send_state *state, unsigned index)
{
	const struct sampler_view *view = sampler_look(state->sampler, index);
	const struct tcp_info_raw *raw = &view->info.raw;
	struct goodput goodput = send_stream_goodput(state, index);
	char verdict[256];
	struct stream_view stream;
	streams_look(state->streams, index, &stream);
	cJSON *object = cJSON_CreateObject();
	json_add_u64(object, "stream", index);
	json_add_u64(object, "bytes", goodput.bytes);
	json_add_u64(object, "early_bytes", goodput.early_bytes);
	json_add_seconds(object, "duration_s", goodput.duration_ns);
	goodput_add(object, &goodput);
	if (view->info.subflows != 0)
		subflows_json(&view->info, json_add_array(object, "subflows"));
	json_add_u64(object, "retransmits", raw->total_retrans);
	json_add_u64(object, "bytes_retransmitted", raw->bytes_retrans);
	json_add_u64(object, "min_rtt_us", view->min_rtt_us);
	json_add_u64(object, "max_rtt_us", view->max_rtt_us);
	json_add_u64(object, "srtt_us", raw->rtt);
	json_add_u64(object, "mss_bytes", raw->snd_mss);
	char congestion[CONGESTION_NAME_BYTES];
	bool asked = congestion_of_stream(state->options->congestion, index, congestion);
	json_add_text(object, "congestion_control", asked ? congestion : state->congestion);
	json_add_item(object, "sender_tcp_info", tcp_info_json(&view->info));
	json_add_item(object, "receiver_tcp_info",
		      state->reported ? cJSON_Duplicate(state->report.stream[index].tcp_info, true)
				      : cJSON_CreateObject());
	if (state->reported && state->report.stream[index].checked)
		json_add_item(object, "verified",
			      verify_report_json(&state->report.stream[index].verified));
	json_add_u64(object, "busy_us", raw->busy_time);
	json_add_u64(object, "rwnd_limited_us", raw->rwnd_limited);
	json_add_u64(object, "sndbuf_limited_us", raw->sndbuf_limited);
	json_add_seconds(object, "sender_cpu_s", stream.cpu_ns);
	if (state->reported)
		json_add_seconds(object, "receiver_cpu_s", state->report.stream[index].cpu_ns);
	else
		json_add_text(object, "receiver_cpu_s", NULL);
	json_add_u64(object, "sender_calls", stream.calls);
	json_add_known(object, "receiver_calls", state->report.stream[index].calls,
		       state->reported);
	enum limit limit = send_verdict(state, index, verdict, sizeof(verdict));
	json_add_text(object, "limited_by", limit_name(limit));
	json_add_text(object, "verdict", verdict);
	return object;
}

cJSON *send_report(const struct send_state *state)
{
	struct totals totals = totals_make(state);
	cJSON *object = cJSON_CreateObject();
	json_add_item(object, "engine", engine_json());
	json_add_text(object, "role", "send");
	json_add_bool(object, "complete", state->reported && !state->failure.set);
	json_add_text(object, "error", state->failure.set ? state->failure.text : NULL);
	json_add_text(object, "signal", state->signal != 0 ? signal_name(state->signal) : NULL);
	json_add_item(object, "options", send_options_json(state->options));
	json_add_text(object, "receive_mode",
		      state->options->files ? "file"
					    : receive_mode_name(state->options->asked.receive));
	if (state->files != NULL)
		json_add_item(object, "files", files_send_json(state));
	window_add(object, state, &totals);
	json_add_known(object, "start_unix_ns", state->start_unix_ns, state->start_ns != 0);
	json_add_known(object, "connect_unix_ns",
		       state->start_unix_ns - (state->start_ns - state->connect_ns),
		       state->start_ns != 0 && state->connect_ns != 0);
	json_add_known(object, "receiver_start_unix_ns", state->report.start_unix_ns,
		       state->reported);
	json_add_known(object, "last_byte_unix_ns", receiver_report_end_unix_ns(&state->report),
		       state->reported && state->report.bytes != 0);
	json_add_seconds(object, "duration_s", totals.goodput.duration_ns);
	json_add_u64(object, "bytes", totals.goodput.bytes);
	json_add_text(object, "bytes_source", state->reported ? "receiver" : "sender");
	json_add_u64(object, "early_bytes", totals.goodput.early_bytes);
	goodput_add(object, &totals.goodput);
	json_add_u64(object, "retransmits", totals.retransmits);
	json_add_u64(object, "bytes_retransmitted", totals.bytes_retransmitted);
	json_add_u64(object, "packets_sent", totals.packets_sent);
	json_add_known(object, "packets_received", state->report.packets_received, state->reported);
	send_payload_report(state, object);
	cJSON *cpu = json_add_object(object, "cpu");
	json_add_item(cpu, "sender", cpu_json(&state->cpu));
	json_add_item(cpu, "receiver", cpu_json(&state->report.cpu));
	cJSON *hosts = json_add_object(object, "hosts");
	json_add_item(hosts, "sender", host_usage_json(&state->host, totals.goodput.bytes));
	json_add_item(hosts, "receiver",
		      host_usage_json(&state->report.host, totals.goodput.bytes));
	cJSON *streams = json_add_array(object, "streams");
	for (unsigned i = 0; state->start_ns != 0 && i < state->options->asked.streams; i++)
		(void)cJSON_AddItemToArray(streams, stream_json(state, i));
	return object;
}

cJSON *send_report_unknown(const struct send_state *state)
{
	struct send_state nothing = *state;
	nothing.streams = NULL;
	nothing.sampler = NULL;
	nothing.start_ns = 0;
	nothing.reported = false;
	nothing.report = (struct receiver_report){0};
	nothing.files = NULL;
	return send_report(&nothing);
}

void send_summary(const struct send_state *state)
{
	char warning[768];
	char rate[160];
	struct totals totals = totals_make(state);
	goodput_text(&totals.goodput, rate, sizeof(rate));
	if (state->start_ns != 0)
		output_note(
		    "%u stream%s: %.3f GB in %.3f s, %s, %llu retransmits",
		    state->options->asked.streams, state->options->asked.streams == 1 ? "" : "s",
		    (double)totals.goodput.bytes / 1e9, (double)totals.goodput.duration_ns / 1e9,
		    rate, (unsigned long long)totals.retransmits);
	if (state->files != NULL)
		files_send_summary(state);
	if (state->granted && state->sndbuf_bytes != 0) {
		window_warning(&totals.window, warning, sizeof(warning));
		if (warning[0] != '\0')
			output_note("Warning: %s", warning);
	}
	send_path_warning(state, warning, sizeof(warning));
	if (warning[0] != '\0')
		output_note("Warning: %s", warning);
	if (state->failure.set)
		output_note("Error: %s", state->failure.text);
}
