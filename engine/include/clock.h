/* The two clocks of the engine, in nanoseconds. */
#ifndef LANDSPEED_CLOCK_H
#define LANDSPEED_CLOCK_H

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

/* Timers fire on their exact nanosecond instead of up to 50 us late; threads inherit it. */
void clock_make_exact(void);

#endif
