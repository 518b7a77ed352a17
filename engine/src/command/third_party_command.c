#include "base/clock.h"
#include "base/log.h"
#include "base/output.h"
#include "base/quantity.h"
#include "command/commands.h"
#include "control/dial.h"
#include "control/session.h"
#include "control/third_party.h"
#include "options/options.h"

#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST_ID 256

enum own_option {
	OWN_HELP,
	OWN_FROM,
	OWN_FROM_PORT,
	OWN_TO,
	OWN_TO_PORT,
	OWN_KEY,
	OWN_JSON,
	OWN_COUNT
};

static const struct {
	const char *name;
	const char *argument;
	const char *help;
} own_options[OWN_COUNT] = {
    [OWN_HELP] = {"help", NULL, "print this list"},
    [OWN_FROM] = {"from", "HOST", "the sender: a receive --third-party there takes the order"},
    [OWN_FROM_PORT] = {"from-port", "PORT", "its port (5201)"},
    [OWN_TO] = {"to", "HOST", "the receiver, as the sender knows it"},
    [OWN_TO_PORT] = {"to-port", "PORT", "its port (5201)"},
    [OWN_KEY] = {"key", "FILE", "pre-shared key of all three; it must be given"},
    [OWN_JSON] = {"json", "FILE|-", "the result that the sender returns (-)"},
};

struct order {
	const char *from;
	uint16_t from_port;
	const char *key_path;
	const char *json;
	bool help;
	struct third_party sending;
};

static void line_print(const char *name, const char *argument, const char *help)
{
	char left[64];
	(void)snprintf(left, sizeof(left), "  --%s %s", name, argument != NULL ? argument : "");
	(void)printf("%-27s %s\n", left, help);
}

static void help_print(void)
{
	(void)puts("usage: landspeed-engine third-party --from A --to B --key FILE [OPTION...]\n");
	for (int i = 0; i < OWN_COUNT; i++)
		line_print(own_options[i].name, own_options[i].argument, own_options[i].help);
	for (const struct third_party_option *option = options_forwarded(); option->name != NULL;
	     option++)
		line_print(option->name, option->argument, "see 'send --help'");
}

static int port_read(const char *name, const char *value, uint16_t *port, struct failure *failure)
{
	uint64_t number = 0;
	if (!quantity_parse_integer(value, 1, UINT16_MAX, &number))
		return failure_set(failure, "--%s: '%s' is not a port from 1 to 65535", name,
				   value);
	*port = (uint16_t)number;
	return 0;
}

static int own_apply(int id, const char *value, struct order *order, struct failure *failure)
{
	switch (id) {
	case OWN_HELP:
		order->help = true;
		return 0;
	case OWN_FROM:
		order->from = value;
		return 0;
	case OWN_FROM_PORT:
		return port_read("from-port", value, &order->from_port, failure);
	case OWN_TO:
		order->sending.host = value;
		return 0;
	case OWN_TO_PORT:
		return port_read("to-port", value, &order->sending.port, failure);
	case OWN_KEY:
		order->key_path = value;
		return 0;
	case OWN_JSON:
	default:
		order->json = value;
		return 0;
	}
}

/* The sender would refuse wrong values too; here they are told where they were typed. */
static int sending_check(const struct order *order, struct failure *failure)
{
	struct options ignored;
	char words[THIRD_PARTY_OPTIONS][THIRD_PARTY_VALUE_BYTES + 32];
	char host[260];
	char command[] = "third-party";
	char key[] = "--key=theirs"; /* A has one */
	char *list[THIRD_PARTY_OPTIONS + 4] = {command, host, key};
	int count = 3;
	(void)snprintf(host, sizeof(host), "%s", order->sending.host);
	for (unsigned i = 0; i < order->sending.count; i++) {
		const char *name = order->sending.options[i].name;
		const char *value = order->sending.options[i].value;
		if (value != NULL && strlen(value) >= THIRD_PARTY_VALUE_BYTES)
			return failure_set(failure, "--%s: the value is too long", name);
		(void)snprintf(words[i], sizeof(words[i]), value != NULL ? "--%s=%s" : "--%s", name,
			       value);
		list[count++] = words[i];
	}
	return options_parse_send(count, list, &ignored, failure);
}

static int order_parse(int argc, char **argv, struct order *order, struct failure *failure)
{
	struct option known[OWN_COUNT + THIRD_PARTY_OPTIONS + 1] = {0};
	int count = 0;
	int id;
	for (; count < OWN_COUNT; count++)
		known[count] =
		    (struct option){own_options[count].name, own_options[count].argument != NULL,
				    NULL, FIRST_ID + count};
	for (const struct third_party_option *option = options_forwarded(); option->name != NULL;
	     option++, count++)
		known[count] = (struct option){
		    option->name, option->argument != NULL ? required_argument : no_argument, NULL,
		    FIRST_ID + count};
	opterr = 0;
	while ((id = getopt_long(argc, argv, ":", known, NULL)) != -1) {
		if (id < FIRST_ID)
			return failure_set(
			    failure,
			    "'%s' is not an option of third-party, or lacks its value; see "
			    "'landspeed-engine third-party --help'",
			    argv[optind - 1]);
		if (id < FIRST_ID + OWN_COUNT) {
			if (own_apply(id - FIRST_ID, optarg, order, failure) != 0)
				return -1;
			continue;
		}
		if (order->sending.count == THIRD_PARTY_OPTIONS)
			return failure_set(failure, "too many options");
		order->sending.options[order->sending.count].name = known[id - FIRST_ID].name;
		order->sending.options[order->sending.count++].value = optarg;
	}
	if (order->help)
		return 0;
	if (optind < argc)
		return failure_set(failure, "'%s' is too much: third-party takes options only",
				   argv[optind]);
	if (order->from == NULL || order->sending.host == NULL || order->key_path == NULL)
		return failure_set(failure, "third-party needs --from, --to and --key");
	return sending_check(order, failure);
}

/* The result comes when the transfer has ended; the first signal asks for that, the second leaves.
 */
static int result_wait(struct waiter *waiter, struct control *control, cJSON **result,
		       struct failure *failure)
{
	int signal = 0;
	struct failure ignored = {0};
	waiter_watch(waiter, SLOT_CONTROL, control_fd(control), POLLIN);
	for (;;) {
		cJSON *message;
		enum message_type type;
		int came = session_take(control, &message, &type, failure);
		if (came < 0)
			return -1;
		if (came > 0 && type == MESSAGE_QUEUED) {
			cJSON_Delete(message);
			output_note("the sender is busy: waiting");
			continue;
		}
		if (came > 0 && type != MESSAGE_RESULT)
			return session_refuse(message, type, failure);
		if (came > 0) {
			*result = cJSON_DetachItemFromObjectCaseSensitive(message, "result");
			cJSON_Delete(message);
			return *result != NULL ? 0 : failure_set(failure, "the result is empty");
		}
		if (waiter_wait(waiter, failure) != 0)
			return -1;
		if (!waiter_ready(waiter, SLOT_SIGNAL))
			continue;
		if (signal != 0)
			return failure_set(failure, "interrupted twice");
		signal = waiter_take_signal(waiter);
		(void)control_send(control, message_create(MESSAGE_STOP), &ignored);
	}
}

static int order_carry(const struct order *order, const struct key *key, cJSON **result,
		       struct failure *failure)
{
	int signal = 0;
	int status = -1;
	struct waiter *waiter = waiter_create(failure);
	struct control *control = NULL;
	const struct dial dial = {
	    .host = order->from, .port = order->from_port, .timeout_ns = 30 * NS_PER_S};
	if (waiter != NULL)
		control = control_dial(waiter, &dial, &signal, failure);
	if (control != NULL &&
	    session_authenticate(waiter, control, key, 30 * NS_PER_S, &signal, failure) == 0 &&
	    session_send(control, third_party_encode(&order->sending), failure) == 0)
		status = result_wait(waiter, control, result, failure);
	control_destroy(control);
	waiter_destroy(waiter);
	return status;
}

int third_party_main(int argc, char **argv)
{
	struct key *key;
	cJSON *result = NULL;
	struct failure failure = {0};
	struct order order = {.from_port = 5201, .json = "-", .sending = {.port = 5201}};
	if (order_parse(argc, argv, &order, &failure) != 0) {
		output_note("%s", failure.text);
		return EXIT_USAGE;
	}
	if (order.help) {
		help_print();
		return 0;
	}
	if ((key = key_read(order.key_path, &failure)) == NULL) {
		output_note("Error: %s", failure.text);
		return EXIT_USAGE;
	}
	int status = order_carry(&order, key, &result, &failure);
	key_forget(key);
	if (status == 0)
		status = output_write(order.json, result, &failure);
	if (failure.set)
		output_note("Error: %s", failure.text);
	bool complete = status == 0 && json_get_true(result, "complete");
	cJSON_Delete(result);
	return complete ? 0 : EXIT_FAILED;
}
