/*
 * Waiting for a lock in such a way that a signal ends the wait.
 */
#ifndef LOCKCTL_WAIT_H
#define LOCKCTL_WAIT_H

#include "kinds.h"
#include "signals.h"

/*
 * Take the lock.
 *
 * Returns  as kinds_acquire(). *out_signal: one that has come meanwhile, else 0; the lock may be
 *          held all the same.
 */
LK_MUST_CHECK lk_status wait_for(struct kinds_hold *hold, const struct signals *signals,
                                 int *out_signal, struct lk_error *err);

#endif
