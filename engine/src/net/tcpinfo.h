/* TCP_INFO of one connection, whatever the age of the kernel and of its headers. */
#pragma once

#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of tcpi_state (the kernel's net/tcp_states.h, which no header here has). */
enum tcp_state {
	TCP_STATE_SYN_SENT = 2,
	TCP_STATE_FIN_WAIT2 = 5,
	TCP_STATE_TIME_WAIT = 6,
	TCP_STATE_CLOSE_WAIT = 8,
	TCP_STATE_LAST_ACK = 9,
	TCP_STATE_CLOSING = 11
};

/* The kernel's struct tcp_info up to Linux 6.18, in its layout, which only ever grows. */
struct tcp_info_raw {
	uint8_t state;
	uint8_t ca_state;
	uint8_t retransmits;
	uint8_t probes;
	uint8_t backoff;
	uint8_t options;
	uint8_t wscale;      /* low nibble: what we shift, high: what the peer shifts */
	uint8_t app_limited; /* bit 0 */
	uint32_t rto;
	uint32_t ato;
	uint32_t snd_mss;
	uint32_t rcv_mss;
	uint32_t unacked;
	uint32_t sacked;
	uint32_t lost;
	uint32_t retrans;
	uint32_t fackets;
	uint32_t last_data_sent;
	uint32_t last_ack_sent;
	uint32_t last_data_recv;
	uint32_t last_ack_recv;
	uint32_t pmtu;
	uint32_t rcv_ssthresh;
	uint32_t rtt;
	uint32_t rttvar;
	uint32_t snd_ssthresh;
	uint32_t snd_cwnd;
	uint32_t advmss;
	uint32_t reordering;
	uint32_t rcv_rtt;
	uint32_t rcv_space;
	uint32_t total_retrans;
	uint64_t pacing_rate;
	uint64_t max_pacing_rate;
	uint64_t bytes_acked;
	uint64_t bytes_received;
	uint32_t segs_out;
	uint32_t segs_in;
	uint32_t notsent_bytes;
	uint32_t min_rtt;
	uint32_t data_segs_in;
	uint32_t data_segs_out;
	uint64_t delivery_rate;
	uint64_t busy_time;
	uint64_t rwnd_limited;
	uint64_t sndbuf_limited;
	uint32_t delivered;
	uint32_t delivered_ce;
	uint64_t bytes_sent;
	uint64_t bytes_retrans;
	uint32_t dsack_dups;
	uint32_t reord_seen;
	uint32_t rcv_ooopack;
	uint32_t snd_wnd;
	uint32_t rcv_wnd;
	uint32_t rehash;
	uint16_t total_rto;
	uint16_t total_rto_recoveries;
	uint32_t total_rto_time;
	/* Of Accurate ECN (RFC 9768): */
	uint32_t received_ce;
	uint32_t delivered_e1_bytes;
	uint32_t delivered_e0_bytes;
	uint32_t delivered_ce_bytes;
	uint32_t received_e1_bytes;
	uint32_t received_e0_bytes;
	uint32_t received_ce_bytes;
};

/* The kernel's struct tcp_bbr_info (TCP_CC_INFO); its gains are 256 for 1. */
struct bbr_info {
	uint32_t bw_lo; /* bytes per second */
	uint32_t bw_hi;
	uint32_t min_rtt; /* us */
	uint32_t pacing_gain;
	uint32_t cwnd_gain;
};

/* What is told of one subflow of MPTCP. */
struct subflow_info {
	uint64_t bytes_acked;
	uint32_t retransmits;
	uint32_t rtt_us;
	uint32_t min_rtt_us; /* 0 when none was measured */
};

#define MOST_SUBFLOWS 4 /* that are read */

struct tcp_info {
	struct tcp_info_raw raw; /* zero where the kernel is older */
	size_t length;           /* bytes that the kernel filled */
	struct bbr_info bbr;     /* only after tcp_info_read_control */
	bool has_bbr;            /* the connection's control is BBR, which says that */
	unsigned subflows;       /* of MPTCP; 0: the connection is TCP */
	struct subflow_info subflow[MOST_SUBFLOWS];
};

/* False when the connection cannot be asked (errno says why). */
bool tcp_info_read(int fd, struct tcp_info *info);
/* What the congestion control says of itself, into the same. */
void tcp_info_read_control(int fd, struct tcp_info *info);
/* Packets that are neither acknowledged nor given up, as the kernel counts them. */
uint32_t tcp_info_in_flight(const struct tcp_info *info);
/* Bytes per second of the kernel as bit/s; its "unlimited" is 0. */
uint64_t tcp_info_rate_bps(uint64_t bytes_per_second);
uint32_t tcp_info_min_rtt_us(const struct tcp_info *info); /* 0 when none was measured */
/* The members one by one, in the order of their columns; names are the kernel's. */
unsigned tcp_info_member_count(void);
const char *tcp_info_member_name(unsigned member);
/* False when this kernel does not fill it, or for "unlimited" and "never". */
bool tcp_info_member(const struct tcp_info *info, unsigned member, uint64_t *value);
/* All members that this kernel fills. */
cJSON *tcp_info_json(const struct tcp_info *info);
