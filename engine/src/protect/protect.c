#include "protect/protect.h"

#include "base/wire.h"

#include <openssl/evp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define NONCE_BYTES   12
#define COUNT_OFFSET  4
#define KEY_BYTES     32
#define NUMBER_OFFSET (NONCE_BYTES - 8)

_Static_assert(KEY_BYTES == crypto_auth_hmacsha512256_BYTES, "a tag serves as a key");

struct protector {
	EVP_CIPHER_CTX *cipher;
	enum protect_mode mode;
	uint8_t key[KEY_BYTES]; /* of the records until the next one is due */
	uint64_t number;        /* of the next record */
	bool ended;
};

static const char *const names[PROTECT_MODES] = {[PROTECT_NONE] = "none",
						 [PROTECT_MAC] = "mac",
						 [PROTECT_AEAD] = "aead",
						 [PROTECT_KTLS] = "ktls"};

const char *protect_mode_name(enum protect_mode mode)
{
	return names[mode];
}

bool protect_mode_parse(const char *name, enum protect_mode *mode)
{
	for (unsigned i = 0; i < PROTECT_MODES; i++) {
		if (strcmp(name, names[i]) == 0) {
			*mode = (enum protect_mode)i;
			return true;
		}
	}
	return false;
}

static const char key_label[] = "landspeed-engine/3 records from sender to receiver";
static const char next_label[] = "landspeed-engine/3 next key";
static const char nonce_label[] = "landspeed-engine/3 nonces from sender to receiver";

/* Full records: head, payload, and what is behind it. */
struct shape {
	uint32_t head;
	uint32_t payload;
	uint32_t tail;
};

static struct shape shape_of(enum protect_mode mode)
{
	if (mode == PROTECT_KTLS)
		return (struct shape){TLS_HEAD_BYTES, TLS_PAYLOAD_BYTES, TLS_TAIL_BYTES};
	return (struct shape){PROTECT_HEAD_BYTES, PROTECT_PAYLOAD_BYTES, PROTECT_TAG_BYTES};
}

uint32_t protect_fit(enum protect_mode mode, uint32_t wire)
{
	const struct shape shape = shape_of(mode);
	uint32_t whole = shape.head + shape.payload + shape.tail;
	if (mode == PROTECT_NONE)
		return wire;
	return wire - (wire + whole - 1) / whole * (whole - shape.payload);
}

uint64_t protect_payload(enum protect_mode mode, uint64_t wire)
{
	const struct shape shape = shape_of(mode);
	uint32_t whole = shape.head + shape.payload + shape.tail;
	if (mode == PROTECT_NONE)
		return wire;
	uint64_t rest = wire % whole > shape.head ? wire % whole - shape.head : 0;
	return wire / whole * shape.payload + (rest < shape.payload ? rest : shape.payload);
}

/* HMAC(secret, label | mode | stream): no key serves two purposes. */
static void key_derive(const char *label, enum protect_mode mode, const uint8_t *secret,
		       uint32_t stream, uint8_t key[KEY_BYTES])
{
	uint8_t which[5];
	crypto_auth_hmacsha512256_state state;
	(void)wire_put_u32(wire_put_u8(which, (uint8_t)mode), stream);
	(void)crypto_auth_hmacsha512256_init(&state, secret, PROTECT_SECRET_BYTES);
	(void)crypto_auth_hmacsha512256_update(&state, (const uint8_t *)label, strlen(label) + 1);
	(void)crypto_auth_hmacsha512256_update(&state, which, sizeof(which));
	(void)crypto_auth_hmacsha512256_final(&state, key);
	sodium_memzero(&state, sizeof(state));
}

void protect_keys_derive(const uint8_t secret[PROTECT_SECRET_BYTES], uint32_t stream,
			 struct protect_keys *keys)
{
	uint8_t nonce[KEY_BYTES];
	key_derive(key_label, PROTECT_KTLS, secret, stream, keys->key);
	key_derive(nonce_label, PROTECT_KTLS, secret, stream, nonce);
	memcpy(keys->iv, nonce, sizeof(keys->iv));
}

struct protector *protector_create(enum protect_mode mode, bool seals,
				   const uint8_t secret[PROTECT_SECRET_BYTES], uint32_t stream)
{
	struct protector *protector = calloc(1, sizeof(*protector));
	if (protector == NULL)
		return NULL;
	protector->mode = mode;
	protector->cipher = EVP_CIPHER_CTX_new();
	key_derive(key_label, mode, secret, stream, protector->key);
	bool made = protector->cipher != NULL &&
		    EVP_CipherInit_ex(protector->cipher, EVP_aes_256_gcm(), NULL, protector->key,
				      NULL, seals ? 1 : 0) == 1;
	if (made)
		return protector;
	protector_destroy(protector);
	return NULL;
}

void protector_destroy(struct protector *protector)
{
	if (protector == NULL)
		return;
	EVP_CIPHER_CTX_free(protector->cipher);
	sodium_memzero(protector, sizeof(*protector));
	free(protector);
}

/* A record is done; false when libcrypto does not take the next key. */
static bool record_count(struct protector *protector)
{
	uint8_t next[KEY_BYTES];
	if (++protector->number % PROTECT_KEY_RECORDS != 0)
		return true;
	(void)crypto_auth_hmacsha512256(next, (const uint8_t *)next_label, sizeof(next_label),
					protector->key);
	memcpy(protector->key, next, KEY_BYTES);
	sodium_memzero(next, sizeof(next));
	return EVP_CipherInit_ex(protector->cipher, NULL, NULL, protector->key, NULL, -1) == 1;
}

/* The head and the payload through the cipher; `to` is not used when nothing is encrypted. */
static bool bytes_pass(struct protector *protector, const uint8_t *head, const uint8_t *from,
		       uint32_t count, uint8_t *to)
{
	int done;
	uint8_t nonce[NONCE_BYTES] = {0};
	EVP_CIPHER_CTX *cipher = protector->cipher;
	(void)wire_put_u64(nonce + NUMBER_OFFSET, protector->number);
	return EVP_CipherInit_ex(cipher, NULL, NULL, NULL, nonce, -1) == 1 &&
	       EVP_CipherUpdate(cipher, NULL, &done, head, PROTECT_HEAD_BYTES) == 1 &&
	       (count == 0 || EVP_CipherUpdate(cipher, protector->mode == PROTECT_AEAD ? to : NULL,
					       &done, from, (int)count) == 1);
}

bool protector_seal(struct protector *protector, enum protect_kind kind, const uint8_t *bytes,
		    uint32_t count, uint8_t *room, uint8_t head[PROTECT_HEAD_BYTES],
		    const uint8_t **sealed, uint8_t tag[PROTECT_TAG_BYTES])
{
	int done;
	uint8_t rest[PROTECT_TAG_BYTES];
	memset(head, 0, PROTECT_HEAD_BYTES);
	head[0] = (uint8_t)kind;
	(void)wire_put_u32(head + COUNT_OFFSET, count);
	*sealed = protector->mode == PROTECT_AEAD ? room : bytes;
	if (!bytes_pass(protector, head, bytes, count, room) ||
	    EVP_CipherFinal_ex(protector->cipher, rest, &done) != 1 ||
	    EVP_CIPHER_CTX_ctrl(protector->cipher, EVP_CTRL_GCM_GET_TAG, PROTECT_TAG_BYTES, tag) !=
		1)
		return false;
	return record_count(protector);
}

bool protector_head(const struct protector *protector, const uint8_t head[PROTECT_HEAD_BYTES],
		    uint32_t *count)
{
	static const uint8_t zeros[3];
	(void)wire_get_u32(head + COUNT_OFFSET, count);
	return !protector->ended && head[0] <= PROTECT_END &&
	       memcmp(head + 1, zeros, sizeof(zeros)) == 0 && *count <= PROTECT_PAYLOAD_BYTES &&
	       (head[0] == PROTECT_END) == (*count == 0);
}

bool protector_open(struct protector *protector, const uint8_t *record, uint8_t *bytes)
{
	int done;
	uint32_t count;
	uint8_t tag[PROTECT_TAG_BYTES];
	uint8_t rest[PROTECT_TAG_BYTES];
	const uint8_t *payload = record + PROTECT_HEAD_BYTES;
	if (!protector_head(protector, record, &count))
		return false;
	memcpy(tag, payload + count, sizeof(tag));
	if (!bytes_pass(protector, record, payload, count, bytes) ||
	    EVP_CIPHER_CTX_ctrl(protector->cipher, EVP_CTRL_GCM_SET_TAG, PROTECT_TAG_BYTES, tag) !=
		1 ||
	    EVP_CipherFinal_ex(protector->cipher, rest, &done) != 1) {
		/* Nobody shall use what was not proven. */
		memset(bytes, 0, count);
		return false;
	}
	if (protector->mode == PROTECT_MAC)
		memcpy(bytes, payload, count);
	protector->ended = record[0] == PROTECT_END;
	return record_count(protector);
}

bool protector_ended(const struct protector *protector)
{
	return protector->ended;
}
