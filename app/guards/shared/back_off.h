/*
 * How a guard waits that has nobody to wake it.
 */
#ifndef SECKILL_GUARDS_BACK_OFF_H
#define SECKILL_GUARDS_BACK_OFF_H

#include <stdint.h>

/*
 * Pause this thread after so many tries [from 0] and before the next one: a random while, that grows
 * up to 32 ms, so that those who met drift apart; never past the deadline.
 */
void back_off(unsigned tries, int64_t deadline_ms);

#endif
