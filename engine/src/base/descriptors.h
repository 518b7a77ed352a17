/* How many descriptors this process may have, and who may have how many of them. */
#pragma once

/*
 * As many as the hard limit allows: the soft one is low for programs that call select(2), and no
 * program here does.
 */
void descriptors_raise(void);
/* What a supervisor has closed of 0 to 2 is /dev/null: no line for people goes into a socket. */
void descriptors_hold_standard(void);
/* Of a server's loop: for those who have no session yet, beside half of the sessions it may have.
 */
unsigned descriptors_for_strangers(unsigned sessions);
/*
 * Of a session: how many data connections. Each may have a pipe, or two files; and they come to the
 * loop all at once, as strangers do.
 */
unsigned descriptors_for_streams(unsigned sessions);
/* Of a session: files that wait for the disk; each has two or three, and the streams as many again.
 */
unsigned descriptors_for_files(void);
