/*
 * What all kinds of lock share.
 */
#ifndef LKI_LOCK_H
#define LKI_LOCK_H

#include "call/eval.h"
#include "lease/hold.h"
#include "wait/wait.h"

/*
 * Fill the shared part of a lock that is all zeroes, but for wake_channel; NULL there: silent, or
 * prepare() makes it.
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
/* The same of a verb that may have waited: a cancel is over with that. */
lk_status lki_lock_leave_wait(lk_lock *lock, const struct lk_lock_options *options,
                              lk_status status);

/* lk_lock_acquire(); *is_so, unless it is NULL, is true while the handle is in use by it. */
LK_MUST_CHECK lk_status lki_lock_acquire_as(lk_lock *lock, const struct lk_lock_options *options,
                                            bool *is_so, struct lk_error *err);

/* Begin a pursuit of a lock; the caller adds what it tries. */
struct lki_pursuit lki_lock_pursuit(lk_lock *lock, int64_t deadline);

/* After a lost reply the server may have granted lock->token: take it back on another connection,
   within a small budget; what fails is left to the lease. */
void lki_lock_undo(lk_lock *lock);

/* Make the handle ready to acquire: check that it is free, draw a token, note the lease. INVALID
   when it holds or an option is out of range. */
LK_MUST_CHECK lk_status lki_lock_begin(lk_lock *lock, const struct lk_lock_options *options,
                                       struct lk_error *err);

/* It is held from now on, as the options say; nobody watches it yet. */
void lki_lock_hold(lk_lock *lock, const struct lk_lock_options *options);

/* INVALID unless every option is in range. */
LK_MUST_CHECK lk_status lki_lock_check_options(const struct lk_lock_options *options,
                                               struct lk_error *err);

/* Tell the hook of a step of this lock. */
void lki_lock_emit(const lk_lock *lock, lk_event_type type, lk_status status, int64_t begin,
                   unsigned attempts);

enum { LKI_DEFAULT_LEASE_MS = 30000 };

#endif
