/* Socket options of the data connections, each set and read back. */
#pragma once

#include "base/failure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONGESTION_NAME_BYTES 16

enum tune_side { TUNE_SEND, TUNE_RECEIVE };

/*
 * Asks for a window as `iperf -w` does: setsockopt(SO_SNDBUF or SO_RCVBUF), and with the FORCE
 * variant when the sysctl clamps it and the process may. A smaller grant is no failure.
 */
int tune_window(int fd, enum tune_side side, uint64_t asked_bytes, struct failure *failure);
/*
 * Offers no more than that (TCP_WINDOW_CLAMP), whatever the buffer would allow. The kernel computes
 * its own figure anew when it has seen the first full segments, so this is set again meanwhile.
 */
int tune_window_clamp(int fd, uint64_t bytes, struct failure *failure);
/* What the kernel reads back: twice what was set, since it counts its own overhead in it. */
int tune_buffer(int fd, enum tune_side side, uint64_t *bytes, struct failure *failure);
/*
 * A window that was asked for ends autotuning; this takes it back: the buffer has that size again,
 * as it is read back, and the kernel may change it. Linux has it since 5.14 (SO_BUF_LOCK).
 */
int tune_unlock(int fd, uint64_t bytes, struct failure *failure);
bool tune_can_unlock(int fd);
bool tune_is_locked(int fd);
/* The receiving process sleeps until that much is there (fewer, costlier wake-ups otherwise). */
int tune_low_water(int fd, uint64_t bytes, struct failure *failure);

/*
 * The name that stream `index` takes of a list "reno,cubic", round and round. False when there is
 * no list (NULL), or a name in it that the kernel could not have.
 */
bool congestion_of_stream(const char *list, unsigned index, char name[CONGESTION_NAME_BYTES]);
/* The failure lists the congestion controls that there are. */
int tune_congestion(int fd, const char *name, struct failure *failure);
void tune_congestion_name(int fd, char name[CONGESTION_NAME_BYTES]);
/* DSCP 0 to 63, for both families. */
int tune_dscp(int fd, unsigned code_point, struct failure *failure);
int tune_mss(int fd, unsigned bytes, struct failure *failure);
/* Of a connected socket: payload bytes of a full segment; 0 when it does not say. */
uint32_t tune_mss_read(int fd);
int tune_device(int fd, const char *device, struct failure *failure);
int tune_notsent(int fd, uint64_t bytes, struct failure *failure);
int tune_pacing(int fd, uint64_t bits_per_second, struct failure *failure);

/* One line of /proc/sys/... into text; empty when it cannot be read. */
/* The last number in it (the ceiling of tcp_rmem and tcp_wmem); 0 when it cannot be read. */
uint64_t sysctl_last(const char *path);
void sysctl_read(const char *path, char *text, size_t size);
