/* How many descriptors this process may have. */
#ifndef LANDSPEED_BASE_DESCRIPTORS_H
#define LANDSPEED_BASE_DESCRIPTORS_H

/*
 * As many as the hard limit allows: the soft one is low for programs that call select(2), and no
 * program here does.
 */
void descriptors_raise(void);
/* What a supervisor has closed of 0 to 2 is /dev/null: no line for people goes into a socket. */
void descriptors_hold_standard(void);
/* RLIMIT_NOFILE as it is now, INT_MAX at most. */
unsigned descriptors_limit(void);

#endif
