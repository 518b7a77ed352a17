/* What a receiver does with the payload. */
#pragma once

#include <stdbool.h>

enum receive_mode {
	RECEIVE_DISCARD, /* MSG_TRUNC: the kernel drops the payload, nothing is copied */
	RECEIVE_MEMORY,  /* copied into user memory: delivery in the sense of a record */
	RECEIVE_VERIFY,  /* the same, and every byte is checked */
	RECEIVE_MODES
};

const char *receive_mode_name(enum receive_mode mode);
/* Does the payload reach the receiving application's memory? What counts for a record. */
bool receive_mode_delivers(enum receive_mode mode);
bool receive_mode_parse(const char *name, enum receive_mode *mode);
