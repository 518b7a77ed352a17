/* Memory for keys. */
#pragma once

#include <stddef.h>

/*
 * Zeros, locked as far as RLIMIT_MEMLOCK allows, so that they are not swapped, and in no core dump.
 * NULL: there is no memory. From the first one on no other program of this user may look into this
 * process, and no core is made of it: keys pass through registers and stacks, too.
 */
void *secret_create(size_t bytes);
/* In a new process (fork): what is locked is its parent's. */
void secret_inherit(void *secret, size_t bytes);
/* Wipes and frees; NULL is nothing. */
void secret_destroy(void *secret);
