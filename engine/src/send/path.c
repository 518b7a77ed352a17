/* The way of the data connections: what was asked of it, and what the result says of it. */
#include "net/window.h"
#include "send/send.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TCP_WMEM "/proc/sys/net/ipv4/tcp_wmem"
/*
 * Made blocks are real memory, not pages of one file: the socket shall hold what is in flight and
 * little more.
 */
#define MADE_NOTSENT_BYTES (UINT64_C(4) << 20)
/* What is written goes at once, or is not taken. */
#define UNTIMED_BYTES 1

uint64_t send_notsent_bytes(const struct send_state *state)
{
	if (state->options->asked.settings.notsent_bytes != 0)
		return state->options->asked.settings.notsent_bytes;
	if (state->sending.made)
		return MADE_NOTSENT_BYTES;
	return state->untimed ? UNTIMED_BYTES : 0;
}

/* What the program writes when there is room needs no timer. */
static int timers_avoid(struct send_state *state)
{
	/* A socket of MPTCP with that limit is never writable (seen with Linux 6.18). */
	if (send_notsent_bytes(state) != 0 || state->options->asked.mptcp)
		return 0;
	for (unsigned i = 0; i < state->options->asked.streams; i++) {
		char congestion[CONGESTION_NAME_BYTES];
		struct tcp_info info;
		tune_congestion_name(streams_fd(state->streams, i), congestion);
		if (!streams_info_read(state->streams, i, &info) ||
		    !route_timers_bind(&state->route, congestion, tcp_info_min_rtt_us(&info)))
			continue;
		state->untimed = true;
		if (tune_notsent(streams_fd(state->streams, i), UNTIMED_BYTES, &state->failure) !=
		    0)
			return -1;
	}
	return 0;
}

uint64_t send_pacing_bps(const struct send_state *state)
{
	uint64_t own = state->options->asked.settings.pacing_bps;
	uint64_t share =
	    state->options->asked.settings.pacing_total_bps / state->options->asked.streams;
	if (share != 0 && (own == 0 || share < own))
		own = share;
	uint64_t granted = state->grant.pacing_bps;
	return own == 0 || (granted != 0 && granted < own) ? granted : own;
}

int send_place(struct send_state *state)
{
	struct cpus cpus;
	struct failure ignored = {0};
	/* Without the route nothing is assumed of the device. */
	if (route_find(streams_fd(state->streams, 0), &state->route, &ignored) != 0)
		memset(&state->route, 0, sizeof(state->route));
	state->mptcp = state->options->asked.mptcp;
	for (unsigned i = 0; state->mptcp && i < state->options->asked.streams; i++)
		state->mptcp = net_mptcp_used(streams_fd(state->streams, i));
	if (cpus_choose(state->options->affinity, &state->route, &cpus, state->affinity,
			sizeof(state->affinity), &state->failure) != 0)
		return -1;
	streams_pin(state->streams, &cpus);
	return timers_avoid(state);
}

void send_path_report(const struct send_state *state, cJSON *object)
{
	const struct options *options = state->options;
	const struct route *route = &state->route;
	bool known = route->device[0] != '\0';
	uint64_t pacing_bps = send_pacing_bps(state);
	cJSON *path = json_add_object(object, "path");
	json_add_text(path, "device", known ? route->device : NULL);
	json_add_text(path, "qdisc", route->qdisc[0] != '\0' ? route->qdisc : NULL);
	json_add_known(path, "numa_node", (uint64_t)route->numa_node,
		       known && route->numa_node >= 0);
	json_add_text(path, "affinity", state->affinity[0] != '\0' ? state->affinity : NULL);
	json_add_text(path, "bind", options->bind);
	json_add_text(path, "bind_device", options->device);
	json_add_known(path, "dscp", options->asked.settings.dscp,
		       options->asked.settings.dscp != DSCP_NONE);
	json_add_known(path, "mss_bytes", options->mss, options->mss != 0);
	if (options->asked.mptcp && state->start_ns != 0)
		json_add_bool(path, "mptcp", state->mptcp);
	else
		json_add_text(path, "mptcp", NULL);
	json_add_seconds(object, "omitted_s", options->asked.omit_ns);
	json_add_known(object, "omitted_bytes", state->report.omitted_bytes, state->reported);
	json_add_known(path, "notsent_lowat_bytes", send_notsent_bytes(state),
		       send_notsent_bytes(state) != 0);
	json_add_known(path, "stream_pacing_bps", pacing_bps, pacing_bps != 0);
	json_add_text(path, "paced_by",
		      pacing_bps == 0 || !known ? NULL
		      : route->fq               ? "fq"
						: "TCP");
	char warning[512];
	send_path_warning(state, warning, sizeof(warning));
	json_add_text(path, "warning", warning[0] != '\0' ? warning : NULL);
	json_add_text(path, "receiver_affinity",
		      state->report.affinity[0] != '\0' ? state->report.affinity : NULL);
	/* Where autotuning ends: Linux offers half of the buffer as a window. */
	uint64_t here = sysctl_last(TCP_WMEM);
	uint64_t there = state->grant.rcvbuf_ceiling_bytes;
	json_add_known(path, "autotuning_sender_ceiling_bytes", here, here != 0);
	json_add_known(path, "autotuning_window_ceiling_bytes", there / 2, there != 0);
}

static void warning_add(char *text, size_t size, const char *sentence)
{
	size_t used = strlen(text);
	(void)snprintf(text + used, size - used, "%s%s", used != 0 ? "; " : "", sentence);
}

void send_path_warning(const struct send_state *state, char *text, size_t size)
{
	char sentence[256];
	const struct route *route = &state->route;
	text[0] = '\0';
	if (send_pacing_bps(state) != 0 && route->qdisc[0] != '\0' && !route->fq) {
		(void)snprintf(
		    sentence, sizeof(sentence),
		    "no fq on %s (its qdisc is %s): TCP itself paces, with timers of its "
		    "own; tc qdisc replace dev %s root fq",
		    route->device, route->qdisc, route->device);
		warning_add(text, size, sentence);
	}
	if (state->options->asked.mptcp && state->start_ns != 0 && !state->mptcp)
		warning_add(
		    text, size,
		    "MPTCP was asked for and the connections fell back to TCP: the receiver's "
		    "kernel, or something on the path, does not take it");
}
