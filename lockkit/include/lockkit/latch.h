/*
 * lk_latch: waiters wait until a counter has reached 0.
 *
 * Example
 *     lk_latch *latch = lk_latch_new(client, "all-here", &err);
 *     if (lk_latch_await(latch, 5000, &err) == LK_OK) puts("they have arrived");
 *     lk_latch_free(latch);
 */
#ifndef LOCKKIT_LATCH_H
#define LOCKKIT_LATCH_H

#include "lockkit/client.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_latch lk_latch;

/*
 * A latch that counts down to 0, which ends all waits.
 *
 * A handle is for one thread at a time, and a second one gets INVALID; any thread may cancel.
 *
 * Shape    key: string, the count; absent: 0, which is open, so nobody waits for a latch that was
 *          never set. Shares keys with Redisson's RCountDownLatch, and its channel
 *          "redisson_countdownlatch__channel__{key}" (braces are added whatever the key is, so in a
 *          cluster the key must have none). Besides, a minute long after a count-down,
 *          "{key}:lockkit_claim:<uuid>:<n>". In ZooKeeper it is a node, which Curator's
 *          DistributedBarrier at that path waits for, removes or sets (as a count of 1), and whose data
 *          begin as a SharedCount's; a latch of 0 is no node.
 * Owns     key is copied: 1 to 512 bytes. client must outlive the handle.
 * Returns  NULL with err filled: INVALID, NO_MEMORY.
 * Source   Redisson RCountDownLatch; scripts/latch_count_down.lua.
 */
lk_latch *lk_latch_new(lk_client *client, const char *key, struct lk_error *err);

/*
 * Close a latch that is open.
 *
 * Shape    count: 1 to 2147483647.
 * Returns  OK; BUSY: it is closed already, and was left alone (after UNKNOWN: perhaps by this
 *          handle). INVALID, UNKNOWN, UNREACHABLE, SERVER (the key is something else), NO_MEMORY:
 *          also of all below.
 */
LK_MUST_CHECK lk_status lk_latch_try_set(lk_latch *latch, int64_t count, struct lk_error *err);

/*
 * Count one less. At 0 the latch opens; an open one stays as it is.
 *
 * Returns  OK; UNKNOWN: no answer came: it may count yet; call it again, and it counts once (in ZooKeeper
 *          unless 64 others have counted meanwhile). LOST: called again after more than a minute: it
 *          counts once, or not at all, and it cannot be known which.
 */
LK_MUST_CHECK lk_status lk_latch_count_down(lk_latch *latch, struct lk_error *err);

/* The count; 0: open. */
LK_MUST_CHECK lk_status lk_latch_count(lk_latch *latch, int64_t *out_count, struct lk_error *err);

/*
 * Wait until the latch is open.
 *
 * A latch that is opened and set again before a waiter has looked keeps that waiter: use a new key
 * for every round.
 *
 * Units    wait_ms: milliseconds; 0: look once. A waiter looks at least every poll_ms.
 * Returns  OK         it was open: counted down, deleted, or never set.
 *          BUSY       wait_ms ran out first.
 *          EXHAUSTED  no connection of the pool became free.
 *          CANCELLED  lk_latch_cancel() ended the wait.
 */
LK_MUST_CHECK lk_status lk_latch_await(lk_latch *latch, int64_t wait_ms, struct lk_error *err);

/* Delete it, which opens it and wakes the waiters. NOT_OWNER: it was open. */
lk_status lk_latch_delete(lk_latch *latch, struct lk_error *err);

/* End a wait in lk_latch_await() of another thread, or the next one, as lk_lock_cancel(). NULL is fine. */
void lk_latch_cancel(lk_latch *latch);

/*
 * Free the handle. The latch stays as it is.
 *
 * Owns     takes the latch; NULL is fine.
 */
void lk_latch_free(lk_latch *latch);

#ifdef __cplusplus
}
#endif
#endif
