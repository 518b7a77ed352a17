#include "control/auth.h"

#include "base/hex.h"
#include "base/wire.h"

#include <sodium.h>
#include <string.h>

#define NONCE_HEX ((size_t)2 * AUTH_NONCE_BYTES)
#define TAG_HEX   ((size_t)2 * AUTH_TAG_BYTES)

_Static_assert(AUTH_TAG_BYTES == crypto_auth_BYTES, "one tag");
_Static_assert(SECRET_BYTES == crypto_auth_BYTES, "and as a secret of it");
_Static_assert(KEY_BYTES == crypto_auth_BYTES, "a tag serves as a key of the session");

/* What each use of the pre-shared key is for; the version keeps protocols apart. */
#define LABEL(text) "landspeed-engine/3 " text

void auth_start(struct auth *auth, enum auth_role role, const struct key *key, const uint8_t *nonce)
{
	uint8_t *own = role == AUTH_CLIENT ? auth->client_nonce : auth->server_nonce;
	memset(auth, 0, sizeof(*auth));
	auth->role = role;
	auth->key = key;
	auth->expected = role == AUTH_CLIENT ? MESSAGE_CHALLENGE : MESSAGE_GREETING;
	if (nonce != NULL)
		memcpy(own, nonce, AUTH_NONCE_BYTES);
	else
		randombytes_buf(own, AUTH_NONCE_BYTES);
	if (key == NULL)
		return;
	if (nonce != NULL)
		memcpy(auth->scalar, nonce, AUTH_SHARE_BYTES);
	else
		randombytes_buf(auth->scalar, AUTH_SHARE_BYTES);
	(void)crypto_scalarmult_base(role == AUTH_CLIENT ? auth->client_share : auth->server_share,
				     auth->scalar);
}

void auth_forget(struct auth *auth)
{
	sodium_memzero(auth, sizeof(*auth));
}

/* HMAC(key, label | client's nonce | server's nonce | client's share | server's share | more) */
static void derive(const struct auth *auth, const char *label, const uint8_t *more,
		   size_t more_bytes, uint8_t out[AUTH_TAG_BYTES])
{
	crypto_auth_hmacsha512256_state state;
	(void)crypto_auth_hmacsha512256_init(&state, auth->key->bytes, KEY_BYTES);
	/* With its NUL: no label is the beginning of another. */
	(void)crypto_auth_hmacsha512256_update(&state, (const uint8_t *)label, strlen(label) + 1);
	(void)crypto_auth_hmacsha512256_update(&state, auth->client_nonce, AUTH_NONCE_BYTES);
	(void)crypto_auth_hmacsha512256_update(&state, auth->server_nonce, AUTH_NONCE_BYTES);
	(void)crypto_auth_hmacsha512256_update(&state, auth->client_share, AUTH_SHARE_BYTES);
	(void)crypto_auth_hmacsha512256_update(&state, auth->server_share, AUTH_SHARE_BYTES);
	(void)crypto_auth_hmacsha512256_update(&state, more, more_bytes);
	(void)crypto_auth_hmacsha512256_final(&state, out);
	sodium_memzero(&state, sizeof(state));
}

/* HMAC(master, label) */
static void expand(const uint8_t master[AUTH_TAG_BYTES], const char *label,
		   uint8_t out[AUTH_TAG_BYTES])
{
	(void)crypto_auth_hmacsha512256(out, (const uint8_t *)label, strlen(label) + 1, master);
}

static enum auth_status channel_open(struct auth *auth, struct failure *failure)
{
	struct auth_channel *channel = &auth->channel;
	bool client = auth->role == AUTH_CLIENT;
	uint8_t both[AUTH_SHARE_BYTES];
	uint8_t master[AUTH_TAG_BYTES];
	/* Shares of small order give zeros to everybody. */
	if (crypto_scalarmult(both, auth->scalar,
			      client ? auth->server_share : auth->client_share) != 0)
		return failure_set(failure, "the peer's share is none of X25519");
	derive(auth, LABEL("session"), both, sizeof(both), master);
	expand(master, LABEL("client to server"),
	       client ? channel->send_key : channel->receive_key);
	expand(master, LABEL("server to client"),
	       client ? channel->receive_key : channel->send_key);
	expand(master, LABEL("secret of the data connections"), channel->secret);
	/* Not of this session alone: a later one goes on with what this one verified. */
	expand(auth->key->bytes, LABEL("journals of files"), channel->journals);
	sodium_memzero(both, sizeof(both));
	sodium_memzero(master, sizeof(master));
	sodium_memzero(auth->scalar, sizeof(auth->scalar));
	channel->active = true;
	return AUTH_OPEN;
}

static cJSON *bytes_message(enum message_type type, const char *name, const uint8_t *bytes)
{
	char hex[TAG_HEX + 1];
	cJSON *message = message_create(type);
	hex_encode(bytes, AUTH_TAG_BYTES, hex);
	json_add_text(message, name, hex);
	return message;
}

static cJSON *proof_message(const struct auth *auth, enum message_type type, const char *label)
{
	uint8_t proof[AUTH_TAG_BYTES];
	derive(auth, label, NULL, 0, proof);
	return bytes_message(type, "proof", proof);
}

static bool proof_check(const struct auth *auth, const cJSON *message, const char *label)
{
	uint8_t wanted[AUTH_TAG_BYTES];
	uint8_t given[AUTH_TAG_BYTES];
	const char *text = json_get_text(message, "proof");
	derive(auth, label, NULL, 0, wanted);
	return text != NULL && hex_decode(text, given, sizeof(given)) &&
	       sodium_memcmp(given, wanted, sizeof(given)) == 0;
}

static bool bytes_read(const cJSON *message, const char *name, uint8_t bytes[AUTH_NONCE_BYTES])
{
	const char *text = json_get_text(message, name);
	return text != NULL && hex_decode(text, bytes, AUTH_NONCE_BYTES);
}

static void share_add(cJSON *message, const uint8_t share[AUTH_SHARE_BYTES])
{
	char hex[TAG_HEX + 1];
	hex_encode(share, AUTH_SHARE_BYTES, hex);
	json_add_text(message, "share", hex);
}

cJSON *auth_greet(struct auth *auth, enum auth_status *status)
{
	cJSON *message = bytes_message(MESSAGE_GREETING, "nonce", auth->client_nonce);
	json_add_bool(message, "key", auth->key != NULL);
	if (auth->key != NULL)
		share_add(message, auth->client_share);
	*status = auth->key != NULL ? AUTH_PENDING : AUTH_OPEN;
	return message;
}

static enum auth_status greeting_take(struct auth *auth, const cJSON *message, cJSON **answer,
				      struct failure *failure)
{
	bool keyed = json_get_true(message, "key");
	if (!bytes_read(message, "nonce", auth->client_nonce))
		return failure_set(failure, "greeting: nonce must be %zu hexadecimal digits",
				   NONCE_HEX);
	if (keyed && auth->key == NULL)
		return failure_set(failure,
				   "the sender has a key and the receiver none: --key at both or "
				   "at neither");
	if (!keyed && auth->key != NULL)
		return failure_set(failure, "the receiver wants a key: --key");
	if (auth->key == NULL)
		return AUTH_OPEN;
	if (!bytes_read(message, "share", auth->client_share))
		return failure_set(failure, "greeting: share must be %zu hexadecimal digits",
				   NONCE_HEX);
	*answer = bytes_message(MESSAGE_CHALLENGE, "nonce", auth->server_nonce);
	share_add(*answer, auth->server_share);
	auth->expected = MESSAGE_PROOF;
	return AUTH_PENDING;
}

static enum auth_status challenge_take(struct auth *auth, const cJSON *message, cJSON **answer,
				       struct failure *failure)
{
	if (!bytes_read(message, "nonce", auth->server_nonce) ||
	    !bytes_read(message, "share", auth->server_share))
		return failure_set(failure,
				   "challenge: nonce and share must be %zu hexadecimal digits",
				   NONCE_HEX);
	*answer = proof_message(auth, MESSAGE_PROOF, LABEL("proof of the client"));
	auth->expected = MESSAGE_WELCOME;
	return AUTH_PENDING;
}

static enum auth_status proof_take(struct auth *auth, const cJSON *message, cJSON **answer,
				   struct failure *failure)
{
	if (!proof_check(auth, message, LABEL("proof of the client")))
		return failure_set(failure, "the sender's key is not the receiver's");
	*answer = proof_message(auth, MESSAGE_WELCOME, LABEL("proof of the server"));
	enum auth_status status = channel_open(auth, failure);
	if (status == AUTH_OPEN)
		return status;
	cJSON_Delete(*answer);
	*answer = NULL;
	return status;
}

static enum auth_status welcome_take(struct auth *auth, const cJSON *message,
				     struct failure *failure)
{
	if (!proof_check(auth, message, LABEL("proof of the server")))
		return failure_set(failure, "the receiver could not prove that it has the key");
	return channel_open(auth, failure);
}

enum auth_status auth_take(struct auth *auth, const cJSON *message, enum message_type type,
			   cJSON **answer, struct failure *failure)
{
	*answer = NULL;
	if (type != auth->expected)
		return failure_set(failure, "the peer sent '%s' where '%s' belongs",
				   message_type_name(type), message_type_name(auth->expected));
	switch (type) {
	case MESSAGE_GREETING:
		return greeting_take(auth, message, answer, failure);
	case MESSAGE_CHALLENGE:
		return challenge_take(auth, message, answer, failure);
	case MESSAGE_PROOF:
		return proof_take(auth, message, answer, failure);
	case MESSAGE_WELCOME:
		return welcome_take(auth, message, failure);
	default:
		return failure_set(failure, "'%s' opens no connection", message_type_name(type));
	}
}

/* HMAC(key, number of the frame, 8 bytes big-endian | payload) */
static void frame_tag(const uint8_t key[KEY_BYTES], uint64_t number, const void *bytes,
		      size_t length, uint8_t tag[AUTH_TAG_BYTES])
{
	uint8_t counter[8];
	crypto_auth_hmacsha512256_state state;
	(void)wire_put_u64(counter, number);
	(void)crypto_auth_hmacsha512256_init(&state, key, KEY_BYTES);
	(void)crypto_auth_hmacsha512256_update(&state, counter, sizeof(counter));
	(void)crypto_auth_hmacsha512256_update(&state, bytes, length);
	(void)crypto_auth_hmacsha512256_final(&state, tag);
}

void auth_channel_tag(struct auth_channel *channel, const void *bytes, size_t length,
		      uint8_t tag[AUTH_TAG_BYTES])
{
	frame_tag(channel->send_key, channel->sent++, bytes, length, tag);
}

bool auth_channel_check(struct auth_channel *channel, const void *bytes, size_t length,
			const uint8_t tag[AUTH_TAG_BYTES])
{
	uint8_t wanted[AUTH_TAG_BYTES];
	frame_tag(channel->receive_key, channel->received++, bytes, length, wanted);
	return sodium_memcmp(wanted, tag, AUTH_TAG_BYTES) == 0;
}
