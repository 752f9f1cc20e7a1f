/*
 * The app's clocks. Spans and deadlines use the monotonic one, dates the other.
 */
#ifndef SECKILL_CLOCK_H
#define SECKILL_CLOCK_H

#include <stdint.h>

int64_t clock_mono_ns(void);
int64_t clock_mono_ms(void);
/* Also monotonic, but it counts the time in which the machine is suspended: for the age of cached state. */
int64_t clock_awake_or_not_ms(void);
int64_t clock_unix_ms(void);
/* Pause this thread. */
void clock_pause_ms(int64_t ms);

#endif
