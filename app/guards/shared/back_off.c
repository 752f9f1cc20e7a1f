/*
 * See back_off.h. Any thread. The last bits of a clock in nanoseconds are chance enough.
 */
#include "back_off.h"

#include "base/clock.h"

enum { DOUBLINGS_MAX = 5 };

void back_off(unsigned tries, int64_t deadline_ms)
{
    int64_t most_ms = INT64_C(1) << (tries < DOUBLINGS_MAX ? tries : DOUBLINGS_MAX);
    int64_t left_ms = deadline_ms - clock_mono_ms();
    int64_t pause_ms = clock_mono_ns() / 64 % (most_ms + 1);

    if (left_ms > 0) clock_pause_ms(pause_ms < left_ms ? pause_ms : left_ms);
}
