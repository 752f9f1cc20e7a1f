/*
 * The textbook's ways to guard the decrement, and a few of lockkit's, as guards that only the lab
 * knows. Most are FLAWED on purpose.
 */
#ifndef SECKILL_LAB_WAYS_H
#define SECKILL_LAB_WAYS_H

#include "guard.h"

#define WAY_LIST(X)                                                                                \
    X(thread)                                                                                      \
    X(setnx)                                                                                       \
    X(setnx_expire) X(set_del) X(get_del) X(mutex_try) X(watchdog_unchecked) X(fencing) X(unmarked)

#define WAY_DECLARE(name) extern const struct guard way_##name;
WAY_LIST(WAY_DECLARE)
#undef WAY_DECLARE

/* By its .name, among these and the service's own guards; NULL: there is none. */
const struct guard *way_find(const char *name);

/* Called by ways between their last look at the lock and their write; NULL: nothing. Set it before
   any of them runs. */
void way_set_pause(void (*pause)(void));

#endif
