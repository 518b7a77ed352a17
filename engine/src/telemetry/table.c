#include "telemetry/table.h"

#include <inttypes.h>

static double per_second(double amount, uint64_t duration_ns)
{
	return duration_ns != 0 ? amount * 1e9 / (double)duration_ns : 0.0;
}

/* Right-aligned, or "n/a" for what was not measured (negative). */
static void known_print(FILE *file, int width, int digits, double value, const char *mark)
{
	if (value < 0.0)
		(void)fprintf(file, "%*s", width, "n/a");
	else
		(void)fprintf(file, "%*.*f%s", width, digits, value, mark);
}

/* Or "n/a" for what was too short for a rate. */
static void rate_print(FILE *file, int width, const struct goodput *goodput, double unit)
{
	uint64_t bps = goodput_bps(goodput);
	known_print(file, width, 3, bps != 0 || goodput->bytes == 0 ? (double)bps / unit : -1.0,
		    "");
}

static void threads_print(FILE *file, const struct table *table)
{
	(void)fprintf(file, "Thread  Realtime(s)  Throughput(KB/s)  Throughput(Mbit/s)\n"
			    "======  ===========  ================  ==================\n");
	for (unsigned i = 0; i < table->threads; i++) {
		const struct goodput *thread = &table->thread[i];
		(void)fprintf(file, "%6u  %11.3f  ", i, (double)thread->duration_ns / 1e9);
		rate_print(file, 16, thread, 8e3);
		(void)fprintf(file, "  ");
		rate_print(file, 18, thread, 1e6);
		(void)fprintf(file, "\n");
	}
}

static void bytes_print(FILE *file, const struct table *table)
{
	double packets = (double)table->payload_packets;
	(void)fprintf(file,
		      "\nTotal Bytes(MEG)  Realtime(s)  Average Frame Size  Total "
		      "Throughput(Mbit/s)\n"
		      "================  ===========  ==================  "
		      "========================\n"
		      "%16.6f  %11.3f  ",
		      (double)table->whole.bytes / 1e6, (double)table->whole.duration_ns / 1e9);
	known_print(file, 18, 3, packets > 0.0 ? (double)table->whole.bytes / packets : -1.0, "");
	(void)fprintf(file, "  ");
	rate_print(file, 24, &table->whole, 1e6);
	(void)fprintf(file, "\n");
}

static void buffers_print(FILE *file, const struct table *table)
{
	const struct host_usage *host = &table->host;
	bool known = host->elapsed_ns != 0;
	double interrupts = (double)host->interrupts;
	double packets = (double)table->payload_packets;
	(void)fprintf(file,
		      "\nTotal Buffers  Throughput(Buffers/s)  Pkts/Intr  Intr(count/s)  "
		      "Cycles/Byte\n"
		      "=============  =====================  =========  =============  "
		      "===========\n"
		      "%13" PRIu64 "  %21.3f  ",
		      table->buffers, per_second((double)table->buffers, table->whole.duration_ns));
	known_print(file, 9, 2, interrupts > 0.0 ? packets / interrupts : -1.0, "  ");
	known_print(file, interrupts > 0.0 ? 13 : 15, 2,
		    known ? per_second(interrupts, host->elapsed_ns) : -1.0, "  ");
	known_print(file, known ? 11 : 13, 3, host_cycles_per_byte(host, table->whole.bytes),
		    host->cycles_source == CYCLES_ESTIMATED ? " (estimated)" : "");
	(void)fprintf(file, "\n");
}

static void packets_print(FILE *file, const struct table *table)
{
	(void)fprintf(file,
		      "\nPackets Sent  Packets Received  Total Retransmits  Total Errors  Avg. CPU "
		      "%%\n"
		      "============  ================  =================  ============  "
		      "==========\n"
		      "%12" PRIu64 "  %16" PRIu64 "  %17" PRIu64 "  %12" PRIu64 "  ",
		      table->packets_sent, table->packets_received, table->retransmits,
		      table->errors);
	known_print(file, 10, 2, host_cpu_percent(&table->host), "");
	(void)fprintf(file, "\n");
}

void table_print(FILE *file, const struct table *table)
{
	(void)fprintf(file, "\n%s\n", table->end);
	threads_print(file, table);
	bytes_print(file, table);
	buffers_print(file, table);
	packets_print(file, table);
}
