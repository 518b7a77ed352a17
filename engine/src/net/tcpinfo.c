#include "net/tcpinfo.h"

#include <netinet/in.h>
/* Not linux/tcp.h nor its struct: its size depends on the headers of the build host. */
#define tcp_info tcp_info_libc
#include <netinet/tcp.h>
#undef tcp_info
#include <string.h>
#include <sys/socket.h>

_Static_assert(offsetof(struct tcp_info_raw, pacing_rate) == 104, "layout of the kernel's struct");
_Static_assert(offsetof(struct tcp_info_raw, delivery_rate) == 160,
	       "layout of the kernel's struct");
_Static_assert(offsetof(struct tcp_info_raw, snd_wnd) == 228, "layout of the kernel's struct");

struct member {
	const char *name;
	uint16_t offset;
	uint16_t size;
};

#define MEMBER(field)                                                                              \
	{                                                                                          \
#field, (uint16_t)offsetof(struct tcp_info_raw, field),                            \
		    (uint16_t)sizeof(((struct tcp_info_raw *)0)->field)                            \
	}

static const struct member members[] = {
    MEMBER(state),
    MEMBER(ca_state),
    MEMBER(retransmits),
    MEMBER(probes),
    MEMBER(backoff),
    MEMBER(options),
    MEMBER(rto),
    MEMBER(ato),
    MEMBER(snd_mss),
    MEMBER(rcv_mss),
    MEMBER(unacked),
    MEMBER(sacked),
    MEMBER(lost),
    MEMBER(retrans),
    MEMBER(last_data_sent),
    MEMBER(last_data_recv),
    MEMBER(last_ack_recv),
    MEMBER(pmtu),
    MEMBER(rcv_ssthresh),
    MEMBER(rtt),
    MEMBER(rttvar),
    MEMBER(snd_ssthresh),
    MEMBER(snd_cwnd),
    MEMBER(advmss),
    MEMBER(reordering),
    MEMBER(rcv_rtt),
    MEMBER(rcv_space),
    MEMBER(total_retrans),
    MEMBER(pacing_rate),
    MEMBER(max_pacing_rate),
    MEMBER(bytes_acked),
    MEMBER(bytes_received),
    MEMBER(segs_out),
    MEMBER(segs_in),
    MEMBER(notsent_bytes),
    MEMBER(min_rtt),
    MEMBER(data_segs_in),
    MEMBER(data_segs_out),
    MEMBER(delivery_rate),
    MEMBER(busy_time),
    MEMBER(rwnd_limited),
    MEMBER(sndbuf_limited),
    MEMBER(delivered),
    MEMBER(delivered_ce),
    MEMBER(bytes_sent),
    MEMBER(bytes_retrans),
    MEMBER(dsack_dups),
    MEMBER(reord_seen),
    MEMBER(rcv_ooopack),
    MEMBER(snd_wnd),
    MEMBER(rcv_wnd),
    MEMBER(rehash),
    MEMBER(total_rto),
    MEMBER(total_rto_recoveries),
    MEMBER(total_rto_time),
    MEMBER(received_ce),
    MEMBER(delivered_e1_bytes),
    MEMBER(delivered_e0_bytes),
    MEMBER(delivered_ce_bytes),
    MEMBER(received_e1_bytes),
    MEMBER(received_e0_bytes),
    MEMBER(received_ce_bytes),
};

/* Behind them, of TCP_CC_INFO. */
static const char *const control_names[] = {"bbr_bw_bps", "bbr_min_rtt_us", "bbr_pacing_gain_256",
					    "bbr_cwnd_gain_256"};

#define MEMBERS  (sizeof(members) / sizeof(members[0]))
#define CONTROLS (sizeof(control_names) / sizeof(control_names[0]))

bool tcp_info_read(int fd, struct tcp_info *info)
{
	memset(info, 0, sizeof(*info));
	socklen_t length = sizeof(info->raw);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info->raw, &length) != 0)
		return false;
	info->length = length;
	return true;
}

void tcp_info_read_control(int fd, struct tcp_info *info)
{
	socklen_t length = sizeof(info->bbr);
	/* Only BBR's has that length (linux/inet_diag.h); others say less, or nothing. */
	info->has_bbr = getsockopt(fd, IPPROTO_TCP, TCP_CC_INFO, &info->bbr, &length) == 0 &&
			length == sizeof(info->bbr);
}

uint32_t tcp_info_in_flight(const struct tcp_info *info)
{
	uint32_t left = info->raw.sacked + info->raw.lost;
	uint32_t sent = info->raw.unacked + info->raw.retrans;
	return sent > left ? sent - left : 0;
}

uint64_t tcp_info_rate_bps(uint64_t bytes_per_second)
{
	return bytes_per_second > UINT64_MAX / 8 ? 0 : bytes_per_second * 8;
}

uint32_t tcp_info_min_rtt_us(const struct tcp_info *info)
{
	return info->raw.min_rtt == UINT32_MAX ? 0 : info->raw.min_rtt;
}

static uint64_t member_value(const struct tcp_info *info, const struct member *member)
{
	const uint8_t *at = (const uint8_t *)&info->raw + member->offset;
	uint64_t wide;
	uint32_t word;
	uint16_t half;
	switch (member->size) {
	case sizeof(wide):
		memcpy(&wide, at, sizeof(wide));
		return wide;
	case sizeof(word):
		memcpy(&word, at, sizeof(word));
		return word;
	case sizeof(half):
		memcpy(&half, at, sizeof(half));
		return half;
	default:
		return *at;
	}
}

unsigned tcp_info_member_count(void)
{
	return MEMBERS + CONTROLS;
}

const char *tcp_info_member_name(unsigned member)
{
	return member < MEMBERS ? members[member].name : control_names[member - MEMBERS];
}

static bool control_member(const struct tcp_info *info, size_t member, uint64_t *value)
{
	const struct bbr_info *bbr = &info->bbr;
	const uint64_t values[CONTROLS] = {
	    tcp_info_rate_bps((uint64_t)bbr->bw_hi << 32 | bbr->bw_lo), bbr->min_rtt,
	    bbr->pacing_gain, bbr->cwnd_gain};
	*value = values[member];
	return info->has_bbr;
}

bool tcp_info_member(const struct tcp_info *info, unsigned member, uint64_t *value)
{
	if (member >= MEMBERS)
		return control_member(info, member - MEMBERS, value);
	const struct member *known = &members[member];
	if ((size_t)known->offset + known->size > info->length)
		return false;
	*value = member_value(info, known);
	/* "Unlimited" and "never": no number that a reader of doubles would keep. */
	return !(known->size == sizeof(uint64_t) && *value > JSON_INTEGER_MAX) &&
	       !(known->offset == offsetof(struct tcp_info_raw, min_rtt) && *value == UINT32_MAX);
}

cJSON *tcp_info_json(const struct tcp_info *info)
{
	cJSON *object = cJSON_CreateObject();
	for (unsigned i = 0; i < MEMBERS; i++) {
		uint64_t value;
		if ((size_t)members[i].offset + members[i].size > info->length)
			continue;
		if (tcp_info_member(info, i, &value))
			json_add_u64(object, members[i].name, value);
		else
			json_add_item(object, members[i].name, cJSON_CreateNull());
	}
	json_add_bool(object, "delivery_rate_app_limited", (info->raw.app_limited & 1U) != 0);
	json_add_u64(object, "snd_wscale", info->raw.wscale & 15U);
	json_add_u64(object, "rcv_wscale", (uint64_t)(info->raw.wscale >> 4));
	return object;
}
