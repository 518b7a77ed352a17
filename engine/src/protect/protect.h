/*
 * Records: what a data connection carries when its bytes are protected. Pure: no I/O.
 *
 *   kind (1), zeros (3), length of the payload (4, big-endian), payload, tag (16)
 *
 * AES-256-GCM (NIST SP 800-38D; libcrypto): with `aead` the payload is encrypted and the head
 * authenticated; with `mac` both are authenticated only (GMAC). The nonce is the number of the
 * record, from 0 on, and the key is the stream's and the direction's of one session (hello.h): a
 * record that was changed, moved, repeated, left out, or belongs to another stream or session does
 * not open. The last record says that it is: a connection that is cut is not whole. After
 * PROTECT_KEY_RECORDS both ends take the next key, which is made of the last one, since AES-GCM
 * hides less the more it has seen (RFC 8446, 5.5: some 2^38 bytes).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTECT_SECRET_BYTES 32
#define PROTECT_HEAD_BYTES   8
#define PROTECT_TAG_BYTES    16
#define PROTECT_PAYLOAD_BYTES                                                                      \
	(UINT32_C(64) << 10) /* of a record at most: it stays in the cache                         \
			      */
#define PROTECT_RECORD_BYTES (PROTECT_HEAD_BYTES + PROTECT_PAYLOAD_BYTES + PROTECT_TAG_BYTES)

/* Under one key: 2^37 bytes, if they are full. */
#define PROTECT_KEY_RECORDS (UINT64_C(1) << 21)
/* The kernel's records keep theirs: 2^38 bytes, where RFC 8446, 5.5, has 2^24.5 full records. */
#define TLS_KEY_RECORDS (UINT64_C(1) << 24)

/* Of the kernel's records (RFC 8446, 5.1 and 5.2): behind the payload are its type and the tag. */
#define TLS_HEAD_BYTES    5
#define TLS_PAYLOAD_BYTES (UINT32_C(16) << 10)
#define TLS_TAIL_BYTES    17

/* Each protects at least as much as those before it; with PROTECT_KTLS the kernel makes the records
 * (ktls.h). */
enum protect_mode { PROTECT_NONE, PROTECT_MAC, PROTECT_AEAD, PROTECT_KTLS, PROTECT_MODES };
enum protect_kind { PROTECT_DATA, PROTECT_END };

const char *protect_mode_name(enum protect_mode mode);
bool protect_mode_parse(const char *name, enum protect_mode *mode);
/* The payload in so many bytes of a stream, whose records are full as far as they are there. */
uint64_t protect_payload(enum protect_mode mode, uint64_t wire);

/* How many bytes travel as `wire` bytes, their records' heads and tags included. */
uint32_t protect_fit(enum protect_mode mode, uint32_t wire);

/* What the kernel is given of one stream, one direction. */
struct protect_keys {
	uint8_t key[32];
	uint8_t iv[12];
};

void protect_keys_derive(const uint8_t secret[PROTECT_SECRET_BYTES], uint32_t stream,
			 struct protect_keys *keys);

/* One stream, one direction; PROTECT_MAC or PROTECT_AEAD. */
struct protector;

/* `seals`: makes records, else it opens them. NULL when libcrypto cannot. */
struct protector *protector_create(enum protect_mode mode, bool seals,
				   const uint8_t secret[PROTECT_SECRET_BYTES], uint32_t stream);
void protector_destroy(struct protector *protector);

/*
 * The next record of `count` bytes, which is at most PROTECT_PAYLOAD_BYTES. `sealed` gets what
 * travels in their place: a pointer into `room` (of `count` bytes), or to the bytes themselves.
 * False when libcrypto fails.
 */
bool protector_seal(struct protector *protector, enum protect_kind kind, const uint8_t *bytes,
		    uint32_t count, uint8_t *room, uint8_t head[PROTECT_HEAD_BYTES],
		    const uint8_t **sealed, uint8_t tag[PROTECT_TAG_BYTES]);

/* The payload's length; false when this is no head, or stands behind the last record. */
bool protector_head(const struct protector *protector, const uint8_t head[PROTECT_HEAD_BYTES],
		    uint32_t *count);
/* A whole record, its payload to `bytes`, which has room for PROTECT_PAYLOAD_BYTES. False when it
 * is not the next one as it was sealed. */
bool protector_open(struct protector *protector, const uint8_t *record, uint8_t *bytes);
/* The last record was opened. */
bool protector_ended(const struct protector *protector);
