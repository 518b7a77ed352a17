#include "base/secret.h"

#include <sodium.h>
#include <sys/prctl.h>
#include <sys/resource.h>

void *secret_create(size_t bytes)
{
	const struct rlimit none = {0};
	(void)setrlimit(RLIMIT_CORE, &none);
#ifndef LANDSPEED_SANITIZED
	/* Also where a program takes the cores, whatever that limit says. */
	(void)prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
#endif
	void *secret = sodium_malloc(bytes);
	if (secret != NULL)
		sodium_memzero(secret, bytes);
	return secret;
}

void secret_inherit(void *secret, size_t bytes)
{
	(void)sodium_mlock(secret, bytes);
}

void secret_destroy(void *secret)
{
	sodium_free(secret);
}
