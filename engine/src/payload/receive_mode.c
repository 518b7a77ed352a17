#include "payload/receive_mode.h"

#include <string.h>

static const char *const mode_names[RECEIVE_MODES] = {
    [RECEIVE_DISCARD] = "discard",
    [RECEIVE_MEMORY] = "memory",
    [RECEIVE_VERIFY] = "verify",
};

const char *receive_mode_name(enum receive_mode mode)
{
	return mode_names[mode];
}

bool receive_mode_delivers(enum receive_mode mode)
{
	return mode != RECEIVE_DISCARD;
}

bool receive_mode_parse(const char *name, enum receive_mode *mode)
{
	for (unsigned known = 0; known < RECEIVE_MODES; known++) {
		if (strcmp(name, mode_names[known]) == 0) {
			*mode = (enum receive_mode)known;
			return true;
		}
	}
	return false;
}
