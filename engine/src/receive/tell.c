/* What people read at the end of a transfer at the receiver: the table of this end. */
#include "receive/receive.h"
#include "telemetry/table.h"

void receive_tell(const struct receive_state *state, FILE *file)
{
	const struct receiver_report *report = &state->report;
	struct table table = {.end = "receiver",
			      .threads = report->streams,
			      .whole = receive_goodput(state),
			      .host = report->host};
	for (unsigned i = 0; i < report->streams; i++) {
		const struct stream_report *stream = &report->stream[i];
		const struct tcp_info_raw *raw = &sampler_look(state->sampler, i)->info.raw;
		table.thread[i] = receive_stream_goodput(state, i);
		table.buffers += stream->calls;
		table.packets_sent += raw->segs_out;
		table.packets_received += raw->segs_in;
		table.payload_packets += raw->data_segs_in;
		table.retransmits += raw->total_retrans;
	}
	table.errors = report->complete ? 0 : 1;
	(void)fprintf(file, "\nfrom %s", state->peer);
	table_print(file, &table);
	(void)fflush(file);
}
