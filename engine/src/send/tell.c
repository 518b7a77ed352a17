/* What people read at the end of `send`: totals, a table per end, and what limited each stream. */
#include "base/clock.h"
#include "send/send.h"
#include "telemetry/table.h"
#include "telemetry/verdict.h"

#include <inttypes.h>
#include <stdio.h>

uint64_t send_stream_bytes(const struct send_state *state, unsigned index)
{
	/* The receiver's word is the truth; without it, what it acknowledged. */
	return state->reported ? state->report.stream[index].bytes
			       : sampler_look(state->sampler, index)->bytes;
}

uint64_t send_stream_duration_ns(const struct send_state *state, unsigned index)
{
	const struct stream_report *stream = &state->report.stream[index];
	return state->reported ? stream->last_ns - stream->first_ns
			       : state->end_ns - state->start_ns;
}

struct goodput send_stream_goodput(const struct send_state *state, unsigned index)
{
	return (struct goodput){.bytes = send_stream_bytes(state, index),
				.early_bytes =
				    state->reported ? state->report.stream[index].early_bytes : 0,
				.duration_ns = send_stream_duration_ns(state, index),
				.rtt_us = sampler_look(state->sampler, index)->min_rtt_us};
}

struct goodput send_goodput(const struct send_state *state)
{
	struct goodput whole = {.early_bytes = state->reported ? state->report.early_bytes : 0,
				.duration_ns = state->reported ? state->report.duration_ns
							       : state->end_ns - state->start_ns};
	for (unsigned i = 0; i < state->options->asked.streams; i++) {
		uint64_t rtt_us = sampler_look(state->sampler, i)->min_rtt_us;
		whole.bytes += send_stream_bytes(state, i);
		if (rtt_us != 0 && (whole.rtt_us == 0 || rtt_us < whole.rtt_us))
			whole.rtt_us = rtt_us;
	}
	return whole;
}

enum limit send_verdict(const struct send_state *state, unsigned index, char *text, size_t size)
{
	const struct sampler_view *view = sampler_look(state->sampler, index);
	const struct tcp_info_raw *raw = &view->info.raw;
	struct stream_view stream;
	struct goodput goodput = send_stream_goodput(state, index);
	streams_look(state->streams, index, &stream);
	struct verdict_facts facts = {
	    .duration_ns = goodput.duration_ns,
	    .goodput_bps = goodput_bps(&goodput),
	    .pacing_bps = send_pacing_bps(state),
	    .busy_us = raw->busy_time,
	    .rwnd_limited_us = raw->rwnd_limited,
	    .sndbuf_limited_us = raw->sndbuf_limited,
	    .window_bytes = view->max_snd_wnd,
	    .sndbuf_bytes = state->sndbuf_bytes,
	    .retransmits = raw->total_retrans,
	    .packets = raw->data_segs_out,
	    .min_rtt_us = view->min_rtt_us,
	    .srtt_us = raw->rtt,
	    .sender_cpu_ns = stream.cpu_ns,
	    .receiver_cpu_ns = state->reported ? state->report.stream[index].cpu_ns : 0,
	    .sender_host_percent = host_cpu_percent(&state->host),
	    .receiver_host_percent = state->reported ? host_cpu_percent(&state->report.host) : -1.0,
	};
	return verdict_find(&facts, text, size);
}

static void table_begin(const struct send_state *state, struct table *table)
{
	table->threads = state->options->asked.streams;
	for (unsigned i = 0; i < table->threads; i++) {
		table->thread[i] = send_stream_goodput(state, i);
	}
	table->whole = send_goodput(state);
}

static void sender_table(const struct send_state *state, FILE *file)
{
	struct table table = {.end = "sender", .host = state->host};
	table_begin(state, &table);
	for (unsigned i = 0; i < table.threads; i++) {
		const struct tcp_info_raw *raw = &sampler_look(state->sampler, i)->info.raw;
		struct stream_view stream;
		streams_look(state->streams, i, &stream);
		table.buffers += stream.calls;
		table.packets_sent += raw->segs_out;
		table.packets_received += raw->segs_in;
		table.payload_packets += raw->data_segs_out;
		table.retransmits += raw->total_retrans;
		table.errors += stream.error != 0 ? 1 : 0;
	}
	table_print(file, &table);
}

static uint64_t info_number(const cJSON *info, const char *name)
{
	uint64_t value = 0;
	(void)json_get_u64(info, name, 0, JSON_INTEGER_MAX, &value);
	return value;
}

static void receiver_table(const struct send_state *state, FILE *file)
{
	struct table table = {.end = "receiver", .host = state->report.host};
	table_begin(state, &table);
	for (unsigned i = 0; i < table.threads; i++) {
		const struct stream_report *stream = &state->report.stream[i];
		table.buffers += stream->calls;
		table.packets_sent += info_number(stream->tcp_info, "segs_out");
		table.packets_received += info_number(stream->tcp_info, "segs_in");
		table.payload_packets += info_number(stream->tcp_info, "data_segs_in");
		table.retransmits += info_number(stream->tcp_info, "total_retrans");
	}
	table.errors = state->report.complete ? 0 : 1;
	table_print(file, &table);
}

void send_tell(const struct send_state *state, FILE *file)
{
	struct goodput whole;
	uint64_t retransmits = 0;
	if (state->start_ns == 0 || state->sampler == NULL)
		return;
	for (unsigned i = 0; i < state->options->asked.streams; i++) {
		retransmits += sampler_look(state->sampler, i)->info.raw.total_retrans;
	}
	whole = send_goodput(state);
	intervals_total(file, &whole, retransmits, state->reported ? "receiver" : "sender");
	sender_table(state, file);
	if (state->reported)
		receiver_table(state, file);
	(void)fprintf(file, "\n");
	for (unsigned i = 0; i < state->options->asked.streams; i++) {
		char text[256];
		enum limit limit = send_verdict(state, i, text, sizeof(text));
		(void)fprintf(file, "Stream %u was limited by: %s (%s)\n", i, limit_name(limit),
			      text);
	}
	(void)fflush(file);
}
