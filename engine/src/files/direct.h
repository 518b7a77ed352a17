/* Whether a file is read or written past the page cache (O_DIRECT). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIRECT_ALIGNMENT ((size_t)4096)

enum direct_policy { DIRECT_AUTO, DIRECT_ON, DIRECT_OFF };

const char *direct_policy_name(enum direct_policy policy);
bool direct_policy_parse(const char *name, enum direct_policy *policy);

/*
 * Makes the descriptor direct where the policy wants it and the file system can; true when it is.
 * DIRECT_AUTO decides by file: large ones only, and to be read only when they are not in memory
 * already (looked up with RWF_NOWAIT).
 */
bool direct_apply(int fd, uint64_t file_size, enum direct_policy policy, bool for_reading);
