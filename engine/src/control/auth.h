/*
 * Who is there? The handshake that opens a control connection: messages in, messages out, no I/O.
 *
 *   client                                 server
 *   greeting {nonce, share, key: true}  →
 *                                       ←  challenge {nonce, share}
 *   proof {HMAC}                        →
 *                                       ←  welcome {HMAC}
 *
 * Both HMACs (HMAC-SHA-512-256 of libsodium, under the pre-shared key) cover both nonces and shares
 * and name the side that made them, so that neither can be replayed or reflected. The server proves
 * itself only to a client that has. The shares are X25519's (RFC 7748), new for each connection:
 * the session's keys are made of the pre-shared key, nonces, shares and what both shares give
 * (extract and expand as HKDF does, RFC 5869), so that a key that leaks later opens nothing that
 * was recorded. From then on every frame carries a tag under a key of this session and direction,
 * counted: nothing can be put in, changed, left out or repeated on the way; and each data
 * connection proves that it is of this session (hello.h). Control messages are not encrypted; data
 * are if asked for (protect.h). Where neither side has a key, the greeting alone opens the
 * connection.
 */
#pragma once

#include "control/hello.h"
#include "control/key.h"
#include "control/message.h"

#define AUTH_NONCE_BYTES 32
#define AUTH_TAG_BYTES   32
#define AUTH_SHARE_BYTES 32

enum auth_role { AUTH_CLIENT, AUTH_SERVER };

enum auth_status {
	AUTH_FAILED = -1, /* the failure says why */
	AUTH_PENDING,     /* wait for the peer's next message */
	AUTH_OPEN,        /* the peer is who it should be */
};

/* Keys and counters of the frames of one connection. */
struct auth_channel {
	bool active;                  /* false: no key, frames carry no tag */
	uint8_t secret[SECRET_BYTES]; /* of the session's data connections (hello.h) */
	uint8_t journals[KEY_BYTES];  /* names the pre-shared key in journals of files */
	uint8_t send_key[KEY_BYTES];
	uint8_t receive_key[KEY_BYTES];
	uint64_t sent;
	uint64_t received;
};

struct auth {
	enum auth_role role;
	const struct key *key; /* NULL: none */
	enum message_type expected;
	uint8_t client_nonce[AUTH_NONCE_BYTES];
	uint8_t server_nonce[AUTH_NONCE_BYTES];
	uint8_t client_share[AUTH_SHARE_BYTES];
	uint8_t server_share[AUTH_SHARE_BYTES];
	uint8_t scalar[AUTH_SHARE_BYTES]; /* of our share */
	struct auth_channel channel;      /* to be used once the status is AUTH_OPEN */
};

/* `nonce` NULL: random; others are for tests, and are the scalar too. The key must outlive the
 * handshake. */
void auth_start(struct auth *auth, enum auth_role role, const struct key *key,
		const uint8_t *nonce);
/* The client's first message. With no key the connection is open to the client at once. */
cJSON *auth_greet(struct auth *auth, enum auth_status *status);
/*
 * Takes the peer's next message (the caller keeps it). *answer is a message to send, or NULL; the
 * channel applies only to what is sent after it.
 */
enum auth_status auth_take(struct auth *auth, const cJSON *message, enum message_type type,
			   cJSON **answer, struct failure *failure);
void auth_forget(struct auth *auth);

/* The tag of the next frame that is sent. */
void auth_channel_tag(struct auth_channel *channel, const void *bytes, size_t length,
		      uint8_t tag[AUTH_TAG_BYTES]);
/* Whether the tag is that of the next frame to come; takes the same time wherever it differs. */
bool auth_channel_check(struct auth_channel *channel, const void *bytes, size_t length,
			const uint8_t tag[AUTH_TAG_BYTES]);
