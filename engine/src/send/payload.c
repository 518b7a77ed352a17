#include "base/usage.h"
#include "net/packet.h"
#include "net/tune.h"
#include "payload/blocks.h"
#include "payload/verify_report.h"
#include "send/send.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

/* If the receiver copies, a small buffer that stays in its cache is faster (tests/bench_engine). */
#define CACHED_SPAN_BYTES (UINT64_C(1) << 20)
/* Of each segment, which --mss counts and TCP's own figure does not (RFC 6691). */
#define TIMESTAMPS_BYTES 12
/* Slots beyond what fits the send buffer: one being made, and completions on their way. */
#define SPARE_SLOTS 4

/* Then records are made of the bytes, and written. */
static bool engine_seals(const struct options *options)
{
	return options->asked.protect == PROTECT_MAC || options->asked.protect == PROTECT_AEAD;
}

int send_prepare(struct send_state *state)
{
	const struct options *options = state->options;
	struct sending *sending = &state->sending;
	sending->way = engine_seals(options) ? SEND_WRITE : options->asked.settings.send_method;
	sending->made = options->asked.receive == RECEIVE_VERIFY;
	sending->span =
	    receive_mode_delivers(options->asked.receive) ? CACHED_SPAN_BYTES : PAYLOAD_BYTES;
	sending->bytes = options->asked.bytes;
	sending->stagger_ns = options->asked.settings.stagger_ns;
	sending->seed = options->asked.payload_seed;
	if (!options->seeded &&
	    getrandom(&sending->seed, sizeof(sending->seed), 0) != (ssize_t)sizeof(sending->seed))
		return failure_set_errno(&state->failure, errno, "getrandom");
	sending->seed %= SEED_LIMIT;
	if (send_method_check(sending->way, sending->made, &state->failure) != 0)
		return -1;
	if (sending->made)
		return 0;
	int given = options->seeded ? -1 : payload_given();
	return given >= 0 ? payload_share(&sending->payload, given, &state->failure)
			  : payload_open(&sending->payload, sending->seed, &state->failure);
}

/* The control connection takes the way that the streams will take, with segments as large. */
void send_blocks_choose(struct send_state *state)
{
	struct route route = {0};
	struct failure ignored = {0};
	int fd = control_fd(state->control);
	uint32_t mss_bytes = tune_mss_read(fd);
	uint32_t clamp_bytes = state->options->mss;
	if (clamp_bytes > TIMESTAMPS_BYTES && clamp_bytes - TIMESTAMPS_BYTES < mss_bytes)
		mss_bytes = clamp_bytes - TIMESTAMPS_BYTES;
	if (route_find(fd, &route, &ignored) != 0)
		route.gso_bytes = 0;
	uint32_t bytes = block_bytes_choose(packet_bytes(mss_bytes, route.gso_bytes, BLOCK_BYTES));
	/* What travels is whole packets: the records of a block, not the block. */
	uint32_t fitting = protect_fit(state->options->asked.protect, bytes);
	state->sending.block_bytes = fitting >= BLOCK_LEAST_BYTES ? fitting : bytes;
}

/* What the kernel pins of ours at once (memory that is sent from where it is). */
static uint64_t pinned_limit(void)
{
	struct rlimit limit;
	if (process_may(CAP_IPC_LOCK) || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

static uint32_t slots_needed(uint64_t sndbuf_bytes)
{
	/* Autotuning may still raise the buffer that far. */
	uint64_t limit = sysctl_last("/proc/sys/net/ipv4/tcp_wmem");
	if (limit > sndbuf_bytes)
		sndbuf_bytes = limit;
	/* What is beyond the limit is copied, and its slot free at once. */
	if (pinned_limit() < sndbuf_bytes)
		sndbuf_bytes = pinned_limit();
	return (uint32_t)(sndbuf_bytes / BLOCK_BYTES) + SPARE_SLOTS;
}

/* There each system call is a stop of a traced process: tens of microseconds. */
static bool kernel_in_user_mode(void)
{
	char line[128];
	/* "vendor_id : User Mode Linux" is the second line of its /proc/cpuinfo, the processor's
	 * maker's name elsewhere. */
	FILE *file = fopen("/proc/cpuinfo", "re");
	bool found = false;
	for (unsigned i = 0; file != NULL && i < 2 && fgets(line, sizeof(line), file) != NULL; i++)
		found = found || strstr(line, "User Mode Linux") != NULL;
	if (file != NULL)
		(void)fclose(file);
	return found;
}

int send_choose(struct send_state *state)
{
	struct sending *sending = &state->sending;
	struct failure ignored = {0};
	const struct route *route = &state->route;
	int fd = streams_fd(state->streams, 0);
	if (tune_buffer(fd, TUNE_SEND, &state->sndbuf_bytes, &state->failure) != 0)
		return -1;
	tune_congestion_name(fd, state->congestion);
	if (send_place(state) != 0)
		return -1;
	bool known = route->device[0] != '\0';
	bool kernel_seals = state->options->asked.protect == PROTECT_KTLS;
	bool piped = (sending->way == SEND_AUTO && !kernel_seals) || sending->way == SEND_SPLICE;
	bool huge = piped && !sending->made && payload_huge(&sending->payload);
	const struct sending_facts facts = {
	    .asked = sending->way,
	    .made = sending->made,
	    .kernel_seals = kernel_seals,
	    .huge = huge,
	    .calls_dear = kernel_in_user_mode(),
	    .device = known ? route->device : NULL,
	    .device_copies = !known || !route->hardware,
	    .bytes = sending->bytes,
	    .zerocopy_there = send_method_check(SEND_ZEROCOPY, false, &ignored) == 0,
	};
	sending->way =
	    send_method_choose(&facts, state->sending_reason, sizeof(state->sending_reason));
	if (engine_seals(state->options))
		(void)snprintf(state->sending_reason, sizeof(state->sending_reason),
			       "records are made of the bytes, and written (--protect)");
	sending->packet_bytes =
	    packet_bytes(tune_mss_read(fd), route->gso_bytes, PACKET_PAGES_BYTES);
	sending->slots = slots_needed(state->sndbuf_bytes);
	bool from_memory = sending->way != SEND_SENDFILE && sending->way != SEND_SPLICE;
	return from_memory && !sending->made && !huge
		   ? payload_map(&sending->payload, &state->failure)
		   : 0;
}

static void zerocopy_report(const struct send_state *state, cJSON *object)
{
	struct send_counts total = {0};
	for (unsigned i = 0; i < streams_count(state->streams); i++) {
		const struct send_counts *counts = streams_counts(state->streams, i);
		total.calls += counts->calls;
		total.completed += counts->completed;
		total.copied += counts->copied;
		total.refused += counts->refused;
	}
	cJSON *zerocopy = json_add_object(object, "zerocopy");
	json_add_u64(zerocopy, "calls", total.calls);
	json_add_u64(zerocopy, "completed", total.completed);
	json_add_u64(zerocopy, "copied", total.copied);
	json_add_u64(zerocopy, "refused", total.refused);
}

/* What did not go as the way of sending promises, or an empty text. */
static void sending_excuse(const struct send_state *state, char *text, size_t size)
{
	uint64_t refused = 0;
	unsigned pipeless = 0;
	unsigned count = streams_count(state->streams);
	for (unsigned i = 0; i < count; i++) {
		const struct send_counts *counts = streams_counts(state->streams, i);
		refused += counts->refused;
		pipeless += counts->pipe_bytes == 0 ? 1 : 0;
	}
	text[0] = '\0';
	if (refused != 0)
		(void)snprintf(text, size,
			       "; but %llu calls copied: the kernel would hold no more of this "
			       "user's memory (ulimit -l, net.core.optmem_max)",
			       (unsigned long long)refused);
	else if (state->sending.way == SEND_SPLICE && pipeless != 0)
		(void)snprintf(text, size,
			       "; but %u of %u streams went without: this user's pipes have too "
			       "many pages (fs.pipe-user-pages-soft)",
			       pipeless, count);
}

static void reason_report(const struct send_state *state, cJSON *used)
{
	char text[sizeof(state->sending_reason) + 192];
	char excuse[192];
	sending_excuse(state, excuse, sizeof(excuse));
	(void)snprintf(text, sizeof(text), "%s%s", state->sending_reason, excuse);
	json_add_text(used, "reason", text);
}

static void verification_report(const struct send_state *state, cJSON *object)
{
	struct verify_report total = {0};
	for (unsigned i = 0; i < state->report.streams; i++)
		verify_report_add(&total, &state->report.stream[i].verified);
	json_add_item(object, "verification", verify_report_json(&total));
}

void send_payload_report(const struct send_state *state, cJSON *object)
{
	const struct sending *sending = &state->sending;
	enum send_method way = sending->way;
	bool begun = state->start_ns != 0;
	cJSON *used = json_add_object(object, "sending");
	json_add_text(used, "asked", send_method_name(state->options->asked.settings.send_method));
	json_add_text(used, "way", begun ? send_method_name(way) : NULL);
	if (begun)
		reason_report(state, used);
	else
		json_add_text(used, "reason", NULL);
	json_add_known(used, "payload_seed", sending->seed, !sending->payload.blank);
	json_add_text(used, "pages",
		      begun && sending->made ? streams_pages(state->streams, 0)
		      : begun && sending->payload.huge.bytes != NULL
			  ? buffer_pages_name(sending->payload.huge.pages)
			  : NULL);
	uint32_t packet = way == SEND_SPLICE ? sending->packet_bytes : 0;
	json_add_known(used, "packet_bytes", packet, begun && packet != 0);
	json_add_known(used, "block_bytes", sending->block_bytes, begun && sending->made);
	if (begun && (way == SEND_ZEROCOPY || way == SEND_URING))
		zerocopy_report(state, used);
	else
		json_add_text(used, "zerocopy", NULL);
	send_path_report(state, object);
	json_add_text(object, "protect", protect_mode_name(state->options->asked.protect));
	json_add_bool(object, "delivery",
		      state->options->files ||
			  receive_mode_delivers(state->options->asked.receive));
	if (sending->made && state->reported)
		verification_report(state, object);
	else
		json_add_text(object, "verification", NULL);
}
