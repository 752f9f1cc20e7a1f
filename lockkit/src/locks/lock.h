/*
 * What all kinds of lock share.
 */
#ifndef LKI_LOCK_H
#define LKI_LOCK_H

#include "call/eval.h"
#include "lease/hold.h"
#include "wait/wait.h"

/*
 * Initialise the shared part of a lock, which is zeroed but for wake_channel (NULL: the kind is silent, or
 * prepare() sets it).
 *
 * Returns  OK; INVALID (NULL, or a key of a wrong length); NO_MEMORY. Undone by lki_lock_done(),
 *          also half-way.
 */
LK_MUST_CHECK lk_status lki_lock_init(lk_lock *lock, const struct lki_lock_ops *ops,
                                      lk_client *client, const char *key, struct lk_error *err);
void lki_lock_done(lk_lock *lock);

/* A verb begins: INVALID when there is no lock (NULL), its client is closed, this process was forked, or
   another thread is inside a verb of this handle. OK: it is ours until lki_lock_leave(), which passes the
   status on. */
LK_MUST_CHECK lk_status lki_lock_enter(lk_lock *lock, struct lk_error *err);
lk_status lki_lock_leave(lk_lock *lock, lk_status status);
/* The end of a verb that may have waited: also resets a cancel. */
lk_status lki_lock_leave_wait(lk_lock *lock, const struct lk_lock_options *options,
                              lk_status status);

/* lk_lock_acquire(); *is_so, unless it is NULL, is true while the handle is in use by it. */
LK_MUST_CHECK lk_status lki_lock_acquire_as(lk_lock *lock, const struct lk_lock_options *options,
                                            bool *is_so, struct lk_error *err);

/* A pursuit of this lock, for lki_wait_again(). */
struct lki_pursuit lki_lock_pursuit(lk_lock *lock, int64_t deadline);

/* After a lost reply the server may have granted lock->token: undo that on another connection, within UNDO_MAX_MS.
   If that fails the lease ends it. */
void lki_lock_undo(lk_lock *lock);

/* Prepare an acquire: check that the handle is free, set token and lease. INVALID: it holds the lock, or an option is
   out of range. */
LK_MUST_CHECK lk_status lki_lock_begin(lk_lock *lock, const struct lk_lock_options *options,
                                       struct lk_error *err);

/* It is held from now on, with these options; it is not in the watchdog yet. */
void lki_lock_hold(lk_lock *lock, const struct lk_lock_options *options);

/* INVALID unless every option is in range. */
LK_MUST_CHECK lk_status lki_lock_check_options(const struct lk_lock_options *options,
                                               struct lk_error *err);

/* Call the event hook for a step of this lock. */
void lki_lock_emit(const lk_lock *lock, lk_event_type type, lk_status status, int64_t begin,
                   unsigned attempts);

enum { LKI_DEFAULT_LEASE_MS = 30000 };

#endif
