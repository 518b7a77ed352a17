#include "control/hello.h"

#include "base/wire.h"

#include <sodium.h>
#include <string.h>

static const uint8_t magic[8] = {'l', 's', 'p', 'd', 'a', 't', 'a', 3};

#define STREAM_OFFSET  8
#define SESSION_OFFSET 12
#define NONCE_OFFSET   8
#define PROOF_OFFSET   16

_Static_assert(SECRET_BYTES == crypto_auth_hmacsha512256_KEYBYTES, "the secret is the key");
_Static_assert(PROOF_BYTES == crypto_auth_hmacsha512256_BYTES, "one tag");
_Static_assert(NONCE_OFFSET + NONCE_BYTES == CHALLENGE_BYTES, "no gap");
_Static_assert(PROOF_OFFSET + PROOF_BYTES == HELLO_BYTES, "no gap");

void challenge_encode(const uint8_t nonce[NONCE_BYTES], uint8_t bytes[CHALLENGE_BYTES])
{
	memcpy(bytes, magic, sizeof(magic));
	memcpy(bytes + NONCE_OFFSET, nonce, NONCE_BYTES);
}

bool challenge_decode(const uint8_t bytes[CHALLENGE_BYTES], uint8_t nonce[NONCE_BYTES])
{
	memcpy(nonce, bytes + NONCE_OFFSET, NONCE_BYTES);
	return memcmp(bytes, magic, sizeof(magic)) == 0;
}

void challenge_make(uint8_t nonce[NONCE_BYTES], uint8_t bytes[CHALLENGE_BYTES])
{
	randombytes_buf(nonce, NONCE_BYTES);
	challenge_encode(nonce, bytes);
}

bool hello_begins(uint8_t first)
{
	return first == magic[0];
}

/* HMAC(secret, label | stream | nonce) */
static void proof_make(uint32_t stream, const uint8_t secret[SECRET_BYTES],
		       const uint8_t nonce[NONCE_BYTES], uint8_t proof[PROOF_BYTES])
{
	/* With its NUL: no label is the beginning of another. */
	static const char label[] = "landspeed-engine/3 data from sender to receiver";
	uint8_t number[4];
	crypto_auth_hmacsha512256_state state;
	(void)wire_put_u32(number, stream);
	(void)crypto_auth_hmacsha512256_init(&state, secret, SECRET_BYTES);
	(void)crypto_auth_hmacsha512256_update(&state, (const uint8_t *)label, sizeof(label));
	(void)crypto_auth_hmacsha512256_update(&state, number, sizeof(number));
	(void)crypto_auth_hmacsha512256_update(&state, nonce, NONCE_BYTES);
	(void)crypto_auth_hmacsha512256_final(&state, proof);
	sodium_memzero(&state, sizeof(state));
}

void hello_prove(struct hello *hello, const uint8_t secret[SECRET_BYTES],
		 const uint8_t nonce[NONCE_BYTES])
{
	proof_make(hello->stream, secret, nonce, hello->proof);
}

bool hello_check(const struct hello *hello, const uint8_t secret[SECRET_BYTES],
		 const uint8_t nonce[NONCE_BYTES])
{
	uint8_t wanted[PROOF_BYTES];
	proof_make(hello->stream, secret, nonce, wanted);
	return sodium_memcmp(wanted, hello->proof, PROOF_BYTES) == 0;
}

void hello_encode(const struct hello *hello, uint8_t bytes[HELLO_BYTES])
{
	memset(bytes, 0, HELLO_BYTES);
	memcpy(bytes, magic, sizeof(magic));
	(void)wire_put_u32(bytes + STREAM_OFFSET, hello->stream);
	(void)wire_put_u32(bytes + SESSION_OFFSET, hello->session);
	memcpy(bytes + PROOF_OFFSET, hello->proof, PROOF_BYTES);
}

bool hello_decode(const uint8_t bytes[HELLO_BYTES], struct hello *hello)
{
	(void)wire_get_u32(bytes + STREAM_OFFSET, &hello->stream);
	(void)wire_get_u32(bytes + SESSION_OFFSET, &hello->session);
	memcpy(hello->proof, bytes + PROOF_OFFSET, PROOF_BYTES);
	return memcmp(bytes, magic, sizeof(magic)) == 0;
}
