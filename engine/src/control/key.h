/* The pre-shared key: 32 random bytes, in a file as 64 hexadecimal digits. */
#pragma once

#include "base/failure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_BYTES 32

struct key {
	uint8_t bytes[KEY_BYTES];
};

/*
 * The file must be a regular one that only its owner can read, and the owner this process's user
 * or root. In memory for keys (secret.h); NULL with the failure set.
 */
struct key *key_read(const char *path, struct failure *failure);
/* A new key in a new file of mode 0600; an existing file is never touched. */
int key_write(const char *path, struct failure *failure);
/* Wipes and frees it; NULL is nothing. */
void key_forget(struct key *key);
