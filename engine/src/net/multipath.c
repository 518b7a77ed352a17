#include "net/multipath.h"

#include "base/number.h"

#include <string.h>
#include <sys/socket.h>

/* Of linux/mptcp.h, which is younger than some C libraries. */
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif
#ifndef MPTCP_FULL_INFO
#define MPTCP_FULL_INFO 4
#endif

/* The kernel's struct mptcp_info, as far as it is read here. */
struct connection {
	uint8_t counts[8];
	uint32_t flags;
	uint32_t token;
	uint64_t write_seq;
	uint64_t snd_una;
	uint64_t rcv_nxt;
	uint8_t local[4];
	uint32_t retransmits;
	uint64_t bytes_retrans;
	uint64_t bytes_sent;
	uint64_t bytes_received;
	uint64_t bytes_acked;
};

/* The kernel's struct mptcp_full_info. */
struct full_info {
	uint32_t size_tcpinfo_kernel;
	uint32_t size_tcpinfo_user;
	uint32_t size_sfinfo_kernel;
	uint32_t size_sfinfo_user;
	uint32_t num_subflows;
	uint32_t size_arrays_user;
	uint64_t subflow_info;
	uint64_t tcp_info;
	struct connection connection;
};

static void counts_add(struct tcp_info_raw *sum, const struct tcp_info_raw *more)
{
	uint64_t threshold = (uint64_t)sum->snd_ssthresh + more->snd_ssthresh;
	sum->snd_ssthresh = (uint32_t)number_least(threshold, UINT32_MAX);
	sum->snd_cwnd += more->snd_cwnd;
	sum->unacked += more->unacked;
	sum->sacked += more->sacked;
	sum->lost += more->lost;
	sum->retrans += more->retrans;
	sum->total_retrans += more->total_retrans;
	sum->pacing_rate += number_least(more->pacing_rate, UINT64_MAX - sum->pacing_rate);
	sum->delivery_rate += more->delivery_rate;
	sum->segs_out += more->segs_out;
	sum->segs_in += more->segs_in;
	sum->data_segs_in += more->data_segs_in;
	sum->data_segs_out += more->data_segs_out;
	sum->notsent_bytes += more->notsent_bytes;
	sum->delivered += more->delivered;
	sum->delivered_ce += more->delivered_ce;
	sum->bytes_sent += more->bytes_sent;
	sum->bytes_retrans += more->bytes_retrans;
	sum->dsack_dups += more->dsack_dups;
	sum->reord_seen += more->reord_seen;
	sum->rcv_ooopack += more->rcv_ooopack;
	sum->total_rto = (uint16_t)(sum->total_rto + more->total_rto);
}

static void subflow_tell(struct subflow_info *subflow, const struct tcp_info_raw *raw)
{
	/* TCP counts its SYN. */
	subflow->bytes_acked = raw->bytes_acked > 0 ? raw->bytes_acked - 1 : 0;
	subflow->retransmits = raw->total_retrans;
	subflow->rtt_us = raw->rtt;
	subflow->min_rtt_us = raw->min_rtt == UINT32_MAX ? 0 : raw->min_rtt;
}

bool multipath_info_read(int fd, struct tcp_info *info)
{
	uint8_t subflows[MOST_SUBFLOWS * sizeof(info->raw)];
	struct full_info full = {.size_tcpinfo_user = sizeof(info->raw),
				 .size_arrays_user = MOST_SUBFLOWS,
				 .tcp_info = (uintptr_t)subflows};
	socklen_t length = sizeof(full);
	memset(info, 0, sizeof(*info));
	if (getsockopt(fd, SOL_MPTCP, MPTCP_FULL_INFO, &full, &length) != 0 ||
	    full.size_tcpinfo_user > sizeof(info->raw))
		return false;
	info->length = full.size_tcpinfo_user;
	for (unsigned i = 0; i < full.num_subflows && i < MOST_SUBFLOWS; i++) {
		struct tcp_info_raw raw = {0};
		memcpy(&raw, subflows + i * info->length, info->length);
		if (raw.state == TCP_STATE_SYN_SENT)
			continue; /* it has not joined yet, and may never */
		if (info->subflows == 0)
			info->raw = raw;
		else
			counts_add(&info->raw, &raw);
		subflow_tell(&info->subflow[info->subflows++], &raw);
	}
	/* TCP counts its SYN, MPTCP does not. */
	info->raw.bytes_acked = full.connection.bytes_acked + 1;
	info->raw.bytes_received = full.connection.bytes_received;
	/* What it gave to a subflow once more is new data for that one. */
	info->raw.bytes_retrans += full.connection.bytes_retrans;
	return true;
}
