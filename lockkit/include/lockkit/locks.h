/*
 * One constructor per kind of lock.
 */
#ifndef LOCKKIT_LOCKS_H
#define LOCKKIT_LOCKS_H

#include "lockkit/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A plain lock: one holder, not reentrant, no queue.
 *
 * Shape    key: string = token, taken by SET key token NX PX lease; a fresh 128-bit token (32 hex
 *          digits) per acquisition; released by compare-and-delete. Shares keys with redis-py,
 *          redsync, node-redlock and others of this layout. Waiters listen on channel
 *          "lockkit_wake:{key}" (no braces added when the key has some).
 * Owns     key is copied: 1 to 512 bytes. client must outlive the lock.
 * Returns  NULL with err filled: INVALID, NO_MEMORY.
 * Source   redis.io "Distributed locks"; scripts/mutex_release.lua.
 */
lk_lock *lk_mutex_new(lk_client *client, const char *key, struct lk_error *err);

/*
 * Take a mutex, run Lua under it and give it back, all in one round trip.
 *
 * The acquire, the owner-checked script and the release are sent as one pipeline. When the acquire
 * finds the lock taken, the other two do nothing; with wait_ms the whole is tried again.
 *
 * Shape    as lk_guarded_eval(). Of the options only wait_ms and lease_ms are used.
 * Owns     on OK *out_reply is yours.
 * Returns  OK         ran; the lock is released, had just ended, or (its release failed, as the
 *                     RELEASE event tells) ends with its lease.
 *          BUSY, CANCELLED, UNREACHABLE, INVALID, NO_MEMORY: not run.
 *          NOT_OWNER  the lease ended between the acquire and the script; not run.
 *          UNKNOWN    sent, no answer: it may have run.
 *          SERVER     the script failed with an error.
 */
LK_MUST_CHECK lk_status lk_mutex_run(lk_lock *mutex, const struct lk_lock_options *options,
                                     const struct lk_eval *eval, lk_reply **out_reply,
                                     struct lk_error *err);

#ifdef __cplusplus
}
#endif
#endif
