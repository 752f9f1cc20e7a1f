/*
 * lk_lock: what every kind of lock can do. Make one with a constructor of locks.h.
 *
 * A lock is a LEASE: it ends by itself when its time is up, also while the holder believes in it
 * (paused process, slow network). lk_held() and a write afterwards are two steps. Only
 * lk_guarded_eval() and lk_mutex_run() check the owner and change the data in one atomic step.
 *
 * Example
 *     if (lk_lock_acquire(lock, LK_OPTIONS(lock, .wait_ms = 2000, .is_renewed = true), &err) == LK_OK) {
 *         puts("held until it is released");
 *         lk_lock_release(lock, &err);
 *     }
 */
#ifndef LOCKKIT_LOCK_H
#define LOCKKIT_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lockkit/script.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_lock lk_lock;

/* Runs on the client's watchdog thread: must not block and must not call lockkit. */
typedef void (*lk_lost_hook)(lk_lock *lock, void *arg);

/* A wait_ms without end. */
#define LK_FOREVER INT64_MAX

/* Zero means the default given in brackets. */
struct lk_lock_options {
    size_t size;          /* LK_OPTIONS() [0: that of version 0.1] */
    int64_t wait_ms;      /* how long to wait for the holder; LK_FOREVER: no limit [0: try once] */
    int64_t lease_ms;     /* after this long without renewal the lock ends [30000] */
    bool is_renewed;      /* watchdog: renew every third of the lease while held [false] */
    int64_t max_hold_ms;  /* watchdog: stop renewing after this long [0: no limit] */
    lk_lost_hook on_lost; /* called once when the hold ends before its release [NULL] */
    void *on_lost_arg;
};

/*
 * Take the lock, waiting for the current holder as long as the options allow.
 *
 * Units    milliseconds, monotonic clock; the lease counts from before the request was sent.
 * A reentrant kind may be taken again by the handle that holds it, without waiting; each acquire
 * needs its release. That never shortens the lease; of the options lease_ms and is_renewed are used.
 *
 * Owns     options are read during the call; on_lost_arg must live until the last release.
 * Returns  OK           held; release it.
 *          BUSY         wait_ms ran out first.
 *          EXHAUSTED    no connection of the pool became free.
 *          CANCELLED    lk_lock_cancel() ended the wait.
 *          LOST         won, but the answer came after the lease had ended; already given back.
 *                       Taken again: the hold had ended before; release what was taken.
 *          DEADLOCK     a write lock wanted by the owner of the read lock: it would never end.
 *          UNKNOWN      no answer came; treat as not held. It was tried to undo; else the lease
 *                       clears it.
 *          UNSYNCED     too few replicas confirmed it (lk_client_options); treat likewise.
 *          INVALID      bad option, NULL, a closed client, after a fork; this handle already holds a
 *                       kind that is not reentrant; or another thread is inside a verb of it (so for
 *                       release, renew and lk_guarded_eval, too).
 *          UNREACHABLE  the server was out of reach, or refused for now (BUSY, LOADING, MISCONF, OOM
 *                       ...: lk_refusal), until wait_ms ran out; err has its words.
 *          SERVER (rights, a key of another type), NO_MEMORY. A mutex whose key is something
 *                       else is BUSY.
 * Threads  one handle, one thread at a time (but lk_lock_cancel, lk_held and
 *          lk_lock_remaining_ms are free); different handles are independent.
 */
LK_MUST_CHECK lk_status lk_lock_acquire(lk_lock *lock, const struct lk_lock_options *options,
                                        struct lk_error *err);

/* The same with the defaults: without waiting, or for so long at most (LK_FOREVER: until it is had). */
LK_MUST_CHECK lk_status lk_lock_try(lk_lock *lock, struct lk_error *err);
LK_MUST_CHECK lk_status lk_lock_wait(lk_lock *lock, int64_t wait_ms, struct lk_error *err);

/*
 * Give the lock back; a reentrant one, once per acquire. Bounded by the client's command_ms. Safe to
 * repeat.
 *
 * Returns  OK           released; or there was nothing to release (also for NULL). One of several
 *                       holds is released also without an answer: the last release ends them all.
 *          NOT_OWNER    the hold had already ended; another owner's hold was not changed. After one
 *                       of the next three, a call before the end of the lease is OK instead: the
 *                       earlier release has been run.
 *          UNKNOWN, UNREACHABLE, EXHAUSTED (no free connection)  no confirmation, or a temporary error:
 *                       the client repeats it until the lease is over (lk_client_has_pending_undo()),
 *                       also when the handle is freed. It may be called again.
 *          NO_MEMORY    it may be called again. If not, the lease clears it.
 *          SERVER       an error answer; the lease clears it.
 */
lk_status lk_lock_release(lk_lock *lock, struct lk_error *err);

/*
 * Prolong the hold by hand: the lease begins anew. Never shortens it, never brings back a lost one.
 *
 * Units    lease_ms as in the options; 0 means the lease it was acquired with.
 * Returns  OK; LOST (it is not ours any more); INVALID (nothing held, bad lease);
 *          UNKNOWN, UNREACHABLE, BUSY (no free connection), SERVER, NO_MEMORY: it ends as before.
 */
LK_MUST_CHECK lk_status lk_lock_renew(lk_lock *lock, int64_t lease_ms, struct lk_error *err);

/*
 * Release the lock whoever the owner is. For operators: the holder notices it at its next renewal.
 *
 * Returns  OK         it was held, and is free.
 *          NOT_OWNER  it was not held.
 *          SERVER     the key is no lock, and stays.
 *          INVALID (a kind that cannot be broken), UNKNOWN, UNREACHABLE, BUSY, NO_MEMORY
 */
lk_status lk_lock_force_release(lk_lock *lock, struct lk_error *err);

/* End the wait of an lk_lock_acquire() or lk_mutex_run() in another thread. When none is under way, the
   next one that may wait is CANCELLED instead of waiting: so it is not lost just before. One cancel ends
   one wait. */
void lk_lock_cancel(lk_lock *lock);

/* Whether the hold is still good by the local clock; false in a forked child. No I/O. See the warning
   at the top. */
bool lk_held(const lk_lock *lock);

/* Milliseconds left of the lease by the local clock, at least; 0 when not held. No I/O. */
int64_t lk_lock_remaining_ms(const lk_lock *lock);

/* How often the handle holds it: 0 or 1, more for reentrant kinds. Of the handle's own thread. */
unsigned lk_lock_hold_count(const lk_lock *lock);

/* The fencing token of the current hold: grows with every holder of the key. 0: none (not held, or a
   kind without). Give it to the resource, which must refuse a lower one than it has seen. */
uint64_t lk_lock_fence(const lk_lock *lock);

/* What marks the current or last hold in the server: the mutex's token, else the owner's name.
   Borrowed, until the next acquire; "" before the first. */
const char *lk_lock_token(const lk_lock *lock);

/*
 * A file descriptor that is readable once the current hold was lost, until the next acquire.
 *
 * Owns     the lock's; do not close it. Made at the first call, which may come before an acquire, in a
 *          hold, or after its loss.
 * Returns  -1 when the system has none left.
 * Threads  the handle's own.
 */
int lk_lock_lost_fd(lk_lock *lock);

/*
 * Run Lua if, and only if, this handle still holds the lock: one atomic step in the server.
 *
 * Shape    the script sees KEYS and ARGV as given, plus one more of each at the end (the lock's
 *          key and token). Its data must be on the lock's server. "#!lua flags=..." stays its first line.
 * Units    limit_ms as in lk_client_call().
 * Owns     on OK *out_reply is yours.
 * Returns  OK         it ran; its answer is *out_reply.
 *          NOT_OWNER  the lock is not ours any more; nothing ran.
 *          UNKNOWN    sent, no answer; it may have run.
 *          UNSYNCED   it ran, but too few replicas confirmed it (lk_client_options).
 *          SERVER     the script failed; err has its words.
 *          INVALID    this handle holds nothing, or another thread is inside a verb of it.
 *          BUSY (no free connection), UNREACHABLE, NO_MEMORY: nothing ran.
 * Source   Fencing by the resource itself (Kleppmann 2016), as the resource is here: the only thing that protects data from a holder that overslept.
 */
LK_MUST_CHECK lk_status lk_guarded_eval(lk_lock *lock, const struct lk_eval *eval, int64_t limit_ms,
                                        lk_reply **out_reply, struct lk_error *err);

/*
 * Release all holds of the handle, and free it.
 *
 * Owns     takes the lock, whatever is returned; NULL is fine. A side of a read/write lock is released only.
 * Returns  as lk_lock_release(), of the last one.
 */
lk_status lk_lock_close(lk_lock *lock, struct lk_error *err);

/*
 * Free the handle. A hold is not released: the lease ends it (release first to be polite).
 *
 * Owns     takes the lock; NULL is fine.
 */
void lk_lock_free(lk_lock *lock);

#ifdef __cplusplus
}
#endif
#endif
