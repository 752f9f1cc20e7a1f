/*
 * What all kinds of lock share.
 */
#ifndef LKI_LOCK_H
#define LKI_LOCK_H

#include "call/eval.h"
#include "lease/hold.h"

/*
 * Fill the shared part. wake_channel: taken; NULL: silent, or prepare() makes it.
 *
 * Returns  OK; INVALID (NULL, or a key of a wrong length); NO_MEMORY. Undone by lki_lock_done(),
 *          also half-way.
 */
LK_MUST_CHECK lk_status lki_lock_init(lk_lock *lock, const struct lki_lock_ops *ops,
                                      lk_client *client, const char *key, char *wake_channel,
                                      struct lk_error *err);
void lki_lock_done(lk_lock *lock);

/* Try, wait, try, until the deadline: lki_wait_pursue() for a lock. The first try passes NULL for
   out_ttl_ms. */
LK_MUST_CHECK lk_status lki_lock_pursue(lk_lock *lock, int64_t deadline,
                                        lk_status (*try_once)(void *arg, int64_t *out_ttl_ms,
                                                              struct lk_error *err),
                                        void *arg, unsigned *out_attempts, struct lk_error *err);

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
