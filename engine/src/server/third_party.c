#include "server/third_party.h"
#include "base/clock.h"
#include "base/exits.h"
#include "base/log.h"
#include "base/number.h"
#include "base/waiter.h"
#include "control/admission.h"
#include "control/frame.h"
#include "control/third_party.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The words of `send`: those around the options, and what this host allows. */
#define WORDS_MAX  (THIRD_PARTY_OPTIONS + 12)
#define WORD_BYTES (PATH_MAX + 8) /* the path of a key is the longest */

struct run {
	const struct server_session *session;
	struct waiter *waiter;
	pid_t pid;
	int output_fd;
	int signal; /* that came to us and was passed on; 0: none */
	char *output;
	size_t used;
	bool too_long; /* more than fits a frame */
	struct failure failure;
};

struct words {
	unsigned count;
	char text[WORDS_MAX][WORD_BYTES];
	char *list[WORDS_MAX + 1];
};

static void word_add(struct words *words, const char *format, const char *a, const char *b)
{
	(void)snprintf(words->text[words->count], WORD_BYTES, format, a, b);
	words->list[words->count] = words->text[words->count];
	words->count++;
}

static void number_add(struct words *words, const char *option, uint64_t number, const char *unit)
{
	char value[32];
	(void)snprintf(value, sizeof(value), "%llu%s", (unsigned long long)number, unit);
	word_add(words, option, value, "");
}

/*
 * What is asked of `send`, and last what this host allows: nothing that was asked for may be above
 * it, and --pacing-total holds whoever of the two sends.
 */
static int order_limit(const struct run *run, struct words *words, struct failure *failure)
{
	struct options sending;
	const struct options *own = run->session->options;
	const struct admission *admission = &own->admission;
	struct words copy = *words; /* getopt(3) puts words into another order */
	for (unsigned i = 0; i < copy.count; i++)
		copy.list[i] = copy.text[i];
	if (options_parse_send((int)words->count - 1, copy.list + 1, &sending, failure) != 0)
		return -1;
	const struct request *asked = &sending.asked;
	if (admission_terms(admission, asked, failure) != 0 ||
	    (request_server_sends(asked) &&
	     admission_mode(admission, asked->receive, failure) != 0))
		return -1;
	number_add(words, "--stall=%s%s", number_least(sending.stall_ns, own->stall_ns), "ns");
	number_add(words, "--connect-timeout=%s%s",
		   number_least(sending.connect_timeout_ns, own->idle_timeout_ns), "ns");
	number_add(words, "--answer-timeout=%s%s",
		   number_least(sending.idle_timeout_ns, own->idle_timeout_ns), "ns");
	uint64_t asked_bps = asked->settings.pacing_total_bps;
	uint64_t most_bps = admission->max_rate_bps;
	if (most_bps != 0)
		number_add(words, "--pacing-total=%s%s",
			   asked_bps != 0 ? number_least(asked_bps, most_bps) : most_bps, "");
	return 0;
}

static int words_make(const struct run *run, const struct third_party *order, struct words *words,
		      struct failure *failure)
{
	char port[8];
	(void)snprintf(port, sizeof(port), "%u", order->port);
	word_add(words, "%s%s", "landspeed-engine", "");
	word_add(words, "%s%s", "send", "");
	word_add(words, "%s%s", order->host, "");
	word_add(words, "--%s=%s", "port", port);
	word_add(words, "--%s=%s", "json", "-");
	word_add(words, "--%s=%s", "key", run->session->options->key);
	for (unsigned i = 0; i < order->count; i++)
		word_add(words, order->options[i].value != NULL ? "--%s=%s" : "--%s",
			 order->options[i].name, order->options[i].value);
	return order_limit(run, words, failure);
}

static _Noreturn void sender_become(const struct words *words, int output_fd)
{
	(void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGTERM, 0UL, 0UL, 0UL);
	/* dup2 clears close-on-exec; all else is closed by exec. */
	if (dup2(output_fd, STDOUT_FILENO) >= 0)
		(void)execv("/proc/self/exe", words->list);
	_exit(EXIT_FAILED);
}

static int sender_start(struct run *run, const struct third_party *order)
{
	int ends[2];
	struct words words = {0};
	if (words_make(run, order, &words, &run->failure) != 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return failure_set_errno(&run->failure, errno, "pipe");
	run->pid = fork();
	if (run->pid == 0)
		sender_become(&words, ends[1]);
	(void)close(ends[1]);
	run->output_fd = ends[0];
	return run->pid > 0 ? 0 : failure_set_errno(&run->failure, errno, "cannot start a process");
}

/* True at the end of the output. What is beyond a frame is read too, or `send` would wait for us.
 */
static bool output_read(struct run *run)
{
	char beyond[4096];
	size_t room = FRAME_LIMIT_BYTES - 1 - run->used;
	ssize_t got = room != 0 ? read(run->output_fd, run->output + run->used, room)
				: read(run->output_fd, beyond, sizeof(beyond));
	if (got > 0 && room != 0)
		run->used += (size_t)got;
	else if (got > 0)
		run->too_long = true;
	return got == 0 || (got < 0 && errno != EINTR);
}

/* The client says stop, or has gone: the transfer ends as after Ctrl-C, and its result comes. */
static void on_control(struct run *run)
{
	cJSON *message;
	enum message_type type;
	struct failure ignored = {0};
	enum control_status status =
	    control_take(run->session->client->control, &message, &type, &ignored);
	if (status == CONTROL_PENDING)
		return;
	if (status == CONTROL_MESSAGE)
		cJSON_Delete(message);
	else
		waiter_forget(run->waiter, SLOT_CONTROL);
	(void)kill(run->pid, SIGINT);
}

static int run_follow(struct run *run)
{
	bool over = false;
	waiter_watch(run->waiter, SLOT_CONTROL, control_fd(run->session->client->control), POLLIN);
	waiter_watch(run->waiter, SLOT_DATA, run->output_fd, POLLIN);
	on_control(run); /* what came with the request is in the decoder, and wakes nobody */
	const struct admission *admission = &run->session->options->admission;
	uint64_t end_ns = admission_end_ns(admission, clock_monotonic_ns());
	if (end_ns != UINT64_MAX && waiter_arm(run->waiter, end_ns, &run->failure) != 0)
		return -1;
	while (!over) {
		if (waiter_wait(run->waiter, &run->failure) != 0)
			return -1;
		if (waiter_ready(run->waiter, SLOT_SIGNAL)) {
			run->signal = waiter_take_signal(run->waiter);
			(void)kill(run->pid, run->signal);
		}
		/* The transfer ends as after Ctrl-C. */
		if (waiter_ready(run->waiter, SLOT_TIMER)) {
			(void)waiter_disarm(run->waiter, &run->failure);
			(void)kill(run->pid, SIGINT);
		}
		if (waiter_ready(run->waiter, SLOT_CONTROL))
			on_control(run);
		if (waiter_ready(run->waiter, SLOT_DATA))
			over = output_read(run);
	}
	return 0;
}

/* The result of `send`, or why there is none. */
static cJSON *run_result(struct run *run)
{
	int status = 0;
	while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
		;
	run->output[run->used] = '\0';
	cJSON *result = run->too_long ? NULL : json_parse(run->output, run->used);
	if (run->too_long)
		(void)failure_set(&run->failure,
				  "the sender's result has more than the %u bytes of a message",
				  FRAME_LIMIT_BYTES);
	else if (result == NULL)
		(void)failure_set(&run->failure,
				  "the sender ended with status %d and no result: see the log of "
				  "its host",
				  WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return result;
}

int third_party_serve(const struct server_session *session)
{
	struct third_party order;
	struct failure ignored = {0};
	struct run run = {.session = session, .output_fd = -1};
	cJSON *result = NULL;
	run.output = malloc(FRAME_LIMIT_BYTES);
	run.waiter = waiter_create(&run.failure);
	if (run.output == NULL)
		(void)failure_set(&run.failure, "out of memory");
	if (run.output != NULL && run.waiter != NULL &&
	    third_party_decode(session->client->message, options_forwarded(), &order,
			       &run.failure) == 0 &&
	    sender_start(&run, &order) == 0) {
		log_event("third-party", NULL, "%s: sends to %s", session->client->peer,
			  order.host);
		(void)run_follow(&run);
		result = run_result(&run);
	}
	server_session_leave(session);
	cJSON *message = NULL;
	if (result != NULL) {
		message = message_create(MESSAGE_RESULT);
		json_add_item(message, "result", result);
	} else {
		message = error_encode(run.failure.text);
		log_event("error", NULL, "Error: session with %s: %s", session->client->peer,
			  run.failure.text);
	}
	(void)control_send(session->client->control, message, &ignored);
	if (run.output_fd >= 0)
		(void)close(run.output_fd);
	waiter_destroy(run.waiter);
	free(run.output);
	if (run.signal != 0)
		return EXIT_INTERRUPTED;
	return result != NULL ? 0 : EXIT_FAILED;
}
