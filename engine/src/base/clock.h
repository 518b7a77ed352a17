/* The two clocks of the engine, in nanoseconds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

uint64_t clock_monotonic_ns(void);
uint64_t clock_unix_ns(void);
/* Processor time of the calling thread. */
uint64_t clock_thread_cpu_ns(void);
struct timespec clock_timespec(uint64_t ns);
bool clock_equal(const struct timespec *a, const struct timespec *b);

/* Timers fire on their exact nanosecond instead of up to 50 us late; threads inherit it. */
void clock_make_exact(void);

/* The name of this kernel's clocks: where it is the same, they are. Empty when it is unknown. */
void clock_name(char *name, size_t size);

/* Returns at a whole second of the monotonic clock where the environment asks for it: the next one
 * with LANDSPEED_WHOLE_SECOND=1, the third with 3. In virtual time what comes before, the loading
 * of libraries too, takes a little more or less in each place. */
void clock_wait_if_asked(void);
