#include "base/hex.h"
#include "check.h"
#include "control/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct key key = {.bytes = {1, 2, 3}};
static const struct key other = {.bytes = {1, 2, 4}};

/* Takes and deletes the message, as it would arrive. */
static enum auth_status give(struct auth *to, cJSON *message, cJSON **answer,
			     struct failure *failure)
{
	enum message_type type;
	cJSON *back;
	char *text = json_print(message);
	cJSON_Delete(message);
	assert_int_equal(message_parse(text, strlen(text), &back, &type, failure), 0);
	enum auth_status status = auth_take(to, back, type, answer, failure);
	cJSON_Delete(back);
	free(text);
	return status;
}

static void both_prove_the_key(void **state)
{
	struct auth client;
	struct auth server;
	struct failure failure = {0};
	enum auth_status status;
	cJSON *message;
	uint8_t tag[AUTH_TAG_BYTES];
	auth_start(&client, AUTH_CLIENT, &key, NULL);
	auth_start(&server, AUTH_SERVER, &key, NULL);
	message = auth_greet(&client, &status);
	assert_int_equal(status, AUTH_PENDING);
	assert_int_equal(give(&server, message, &message, &failure), AUTH_PENDING);
	assert_int_equal(give(&client, message, &message, &failure), AUTH_PENDING);
	assert_int_equal(give(&server, message, &message, &failure), AUTH_OPEN);
	assert_int_equal(give(&client, message, &message, &failure), AUTH_OPEN);
	assert_null(message);

	/* One secret of the data connections, and no key of the frames. */
	assert_memory_equal(client.channel.secret, server.channel.secret, SECRET_BYTES);
	assert_memory_not_equal(client.channel.secret, client.channel.send_key, SECRET_BYTES);
	assert_memory_not_equal(client.channel.secret, client.channel.receive_key, SECRET_BYTES);

	struct auth_channel *up = &client.channel;
	struct auth_channel *down = &server.channel;
	auth_channel_tag(up, "request", 7, tag);
	assert_true(auth_channel_check(down, "request", 7, tag));
	/* Not a second time, not back again, not another text, not with a bit changed. */
	assert_false(auth_channel_check(down, "request", 7, tag));
	assert_false(auth_channel_check(up, "request", 7, tag));
	auth_channel_tag(up, "request", 7, tag);
	assert_false(auth_channel_check(down, "requesT", 7, tag));
	down->received = 1;
	tag[31] ^= 1;
	assert_false(auth_channel_check(down, "request", 7, tag));
	down->received = 1;
	tag[31] ^= 1;
	assert_true(auth_channel_check(down, "request", 7, tag));
}

static void tags_are_those_of_hmac_sha_512_256(void **state)
{
	/* hmac.new(key, counter + text, "sha512").digest()[:32], computed apart. */
	uint8_t tag[AUTH_TAG_BYTES];
	char hex[2 * AUTH_TAG_BYTES + 1];
	struct auth_channel channel = {.active = true, .sent = 258};
	memset(channel.send_key, 7, KEY_BYTES);
	auth_channel_tag(&channel, "{}", 2, tag);
	hex_encode(tag, sizeof(tag), hex);
	assert_string_equal(hex,
			    "4d5f2a0930d36306c5fd957d81e9ef69b9f9fab098439963dc0dac7909e14e33");
	assert_int_equal(channel.sent, 259);
}

static void another_key_is_refused_at_both_ends(void **state)
{
	struct auth client;
	struct auth server;
	struct failure failure = {0};
	enum auth_status status;
	cJSON *message;
	auth_start(&client, AUTH_CLIENT, &other, NULL);
	auth_start(&server, AUTH_SERVER, &key, NULL);
	message = auth_greet(&client, &status);
	assert_int_equal(give(&server, message, &message, &failure), AUTH_PENDING);
	assert_int_equal(give(&client, message, &message, &failure), AUTH_PENDING);
	assert_int_equal(give(&server, message, &message, &failure), AUTH_FAILED);
	assert_null(message);
	assert_non_null(strstr(failure.text, "key is not the receiver's"));

	/* A server that only pretends: it has nothing but what the client sent. */
	struct failure why = {0};
	auth_start(&client, AUTH_CLIENT, &key, NULL);
	auth_start(&server, AUTH_SERVER, &other, NULL);
	message = auth_greet(&client, &status);
	assert_int_equal(give(&server, message, &message, &why), AUTH_PENDING);
	assert_int_equal(give(&client, message, &message, &why), AUTH_PENDING);
	cJSON *reflected = message_create(MESSAGE_WELCOME);
	json_add_text(reflected, "proof", json_get_text(message, "proof"));
	cJSON_Delete(message);
	assert_int_equal(give(&client, reflected, &message, &why), AUTH_FAILED);
	assert_non_null(strstr(why.text, "could not prove"));
}

static void a_key_at_one_end_only_is_refused(void **state)
{
	struct auth client;
	struct auth server;
	struct failure none = {0};
	struct failure failure = {0};
	enum auth_status status;
	cJSON *message;
	auth_start(&client, AUTH_CLIENT, NULL, NULL);
	auth_start(&server, AUTH_SERVER, NULL, NULL);
	message = auth_greet(&client, &status);
	assert_int_equal(status, AUTH_OPEN);
	assert_int_equal(give(&server, message, &message, &none), AUTH_OPEN);
	assert_false(server.channel.active);
	assert_null(message);

	auth_start(&server, AUTH_SERVER, &key, NULL);
	assert_int_equal(give(&server, auth_greet(&client, &status), &message, &failure),
			 AUTH_FAILED);
	assert_non_null(strstr(failure.text, "wants a key"));
	auth_start(&client, AUTH_CLIENT, &key, NULL);
	auth_start(&server, AUTH_SERVER, NULL, NULL);
	failure.set = false;
	assert_int_equal(give(&server, auth_greet(&client, &status), &message, &failure),
			 AUTH_FAILED);
	assert_non_null(strstr(failure.text, "the receiver none"));
}

static void messages_out_of_order_are_refused(void **state)
{
	for (enum message_type type = MESSAGE_GREETING; type <= MESSAGE_ERROR; type++) {
		struct auth server;
		struct failure failure = {0};
		cJSON *answer;
		cJSON *message = message_create(type);
		auth_start(&server, AUTH_SERVER, &key, NULL);
		assert_int_equal(auth_take(&server, message, type, &answer, &failure), AUTH_FAILED);
		assert_null(answer);
		cJSON_Delete(message);
	}
}

static char path[] = "/tmp/landspeed-test-key-XXXXXX";

static void key_file_put(const char *text, mode_t mode)
{
	assert_int_equal(chmod(path, 0600), 0); /* the one before may have been for reading only */
	int fd = open(path, O_WRONLY | O_TRUNC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
}

#define DIGITS "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static void key_refused(const char *text, mode_t mode, const char *why)
{
	struct failure failure = {0};
	key_file_put(text, mode);
	assert_null(key_read(path, &failure));
	if (strstr(failure.text, why) == NULL)
		fail_msg("'%s' does not say '%s'", failure.text, why);
}

static void key_files_are_checked(void **state)
{
	struct failure failure = {0};
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	(void)close(fd);
	key_file_put(DIGITS "\n", 0600);
	struct key *read = key_read(path, &failure);
	assert_non_null(read);
	assert_int_equal(read->bytes[0], 0);
	assert_int_equal(read->bytes[31], 0xff);
	key_forget(read);
	key_file_put(DIGITS, 0400);
	read = key_read(path, &failure);
	assert_non_null(read);
	key_forget(read);
	key_refused(DIGITS "\n", 0640, "mode 0640 lets others at it: chmod 600");
	key_refused(DIGITS "\n", 0604, "mode 0604 lets others at it");
	key_refused("", 0600, "not 64 lower-case hexadecimal digits");
	key_refused(DIGITS "\n\n", 0600, "not 64 lower-case hexadecimal digits");
	key_refused(DIGITS "0", 0600, "not 64 lower-case hexadecimal digits");
	key_refused("0" DIGITS DIGITS, 0600, "not 64 lower-case hexadecimal digits");
	key_refused("G0112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", 0600,
		    "hexadecimal");
	assert_int_equal(key_write(path, &failure), -1);
	assert_non_null(strstr(failure.text, "File exists"));
	assert_int_equal(unlink(path), 0);

	struct stat status;
	failure.set = false;
	assert_int_equal(key_write(path, &failure), 0);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	read = key_read(path, &failure);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(key_write(path, &failure), 0);
	struct key *again = key_read(path, &failure);
	assert_int_equal(unlink(path), 0);
	assert_memory_not_equal(read->bytes, again->bytes, KEY_BYTES);
	key_forget(read);
	key_forget(again);

	assert_null(key_read("/tmp", &failure));
	assert_non_null(strstr(failure.text, "not a regular file"));
	failure.set = false;
	assert_null(key_read("/no/such/key", &failure));
	assert_non_null(strstr(failure.text, "No such file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(both_prove_the_key),
	    cmocka_unit_test(tags_are_those_of_hmac_sha_512_256),
	    cmocka_unit_test(another_key_is_refused_at_both_ends),
	    cmocka_unit_test(a_key_at_one_end_only_is_refused),
	    cmocka_unit_test(messages_out_of_order_are_refused),
	    cmocka_unit_test(key_files_are_checked),
	};
	json_start();
	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
