/*
 * Records that the kernel makes and opens: those of TLS 1.3 (RFC 8446, 5.2) without its handshake.
 * Linux Documentation/networking/tls.rst.
 *
 *   23, 3, 3, length (2, big-endian), then encrypted: payload, its type (1); tag (16)
 *
 * AES-256-GCM. Key and initial vector are the stream's and the direction's of one session, as for
 * the engine's own records (protect.h), and the nonce counts the records. What was changed, moved,
 * repeated, left out, or belongs elsewhere, does not open. The last record is the alert
 * close_notify: without it a connection is cut.
 */
#pragma once

#include "base/failure.h"
#include "protect/protect.h"

#include <stdbool.h>
#include <sys/types.h>

/* Can this kernel do it? -1 with the failure set to why not. */
int ktls_check(struct failure *failure);
/* From now on what is written to a connection (`seals`), or read from it, is such records. */
int ktls_open(int fd, bool seals, const struct protect_keys *keys, struct failure *failure);
/*
 * Counts what a call hands over, of which each begins a record. 0, or EKEYEXPIRED: that would be
 * more than TLS_KEY_RECORDS of one key.
 */
int ktls_count(uint64_t *records, uint64_t bytes);
/* The last record. 0 or a positive errno. */
int ktls_send_end(int fd);
/*
 * As recv(), which takes payload of several records at once. 0 and *ended: the last record came;
 * EBADMSG: what came is no record that was sealed for this place.
 */
ssize_t ktls_read(int fd, void *bytes, size_t room, int flags, bool *ended);
