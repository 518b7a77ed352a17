/* Text of a peer, before it goes to a terminal, a log or a reader of JSON. */
#pragma once

#include <stddef.h>

/*
 * In place: each byte of what is no UTF-8, of control characters (C0, DEL, C1: escape sequences
 * begin with them), of line and paragraph separators and of marks that turn the direction of
 * writing becomes '?'.
 */
void text_sanitize(char *text);

/* Length of the UTF-8 character that begins there (RFC 3629) if it is one that may be shown, else
 * 0. */
size_t text_character(const char *text);
