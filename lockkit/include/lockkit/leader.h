/*
 * lk_leader: one of many processes leads, with whatever lock it is given, until it resigns, dies or is cut
 * off; then another one does.
 *
 * Leadership is a lock, and so a LEASE: it may have ended by the time a write of the leader arrives. Protect
 * writes by the fence, or use lk_guarded_eval().
 *
 * Example
 *     void hook(lk_leader *leader, uint64_t fence, void *arg)
 *     {
 *         (void)leader, (void)arg, printf("leading, with fence %llu\n", (unsigned long long)fence);
 *     }
 *     lk_lock *shard = lk_fenced_new(client, "shard:1", &err);
 *     lk_leader *leader = lk_leader_new(shard, LK_OPTIONS(leader, .on_elected = hook), &err);
 *     getchar();
 *     lk_leader_close(leader, &err);
 *     lk_lock_free(shard);
 */
#ifndef LOCKKIT_LEADER_H
#define LOCKKIT_LEADER_H

#include "lockkit/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_leader lk_leader;

/*
 * Zero means the default given in brackets. The hooks run on the leader's own thread, one at a time. They
 * may take long, but further events are reported after them: work in a hook checks lk_leader_is_leading().
 * They may use the leader, but not close it, and may call lk_guarded_eval() with its lock.
 */
struct lk_leader_options {
    size_t size; /* LK_OPTIONS() */
    int64_t
        lease_ms; /* of the lock: the longest time without a leader after one has died [30000] */
    /* fence: lk_lock_fence(); it grows with every leader. 0: a kind of lock without. */
    void (*on_elected)(lk_leader *leader, uint64_t fence, void *arg);
    /* Once after each on_elected: leadership is lost, or about to be given back. */
    void (*on_deposed)(lk_leader *leader, void *arg);
    /* An acquire or a release failed with this (not BUSY). It campaigns on, after a pause of a second at
       most. An unreachable server is waited for inside the acquire, and reported by lk_event. */
    void (*on_trouble)(lk_leader *leader, const struct lk_error *why, void *arg);
    void *arg;
};

/*
 * Start a thread that campaigns with this lock: it waits without end, leads while the lock is held, which
 * is renewed, and campaigns again when it was lost.
 *
 * When leadership is lost, on_deposed is begun by the end of the lease, and the next leader is elected
 * after that, provided that clocks run at the same rate and nothing stops the thread (a paused process, an
 * earlier hook). When it is resigned or closed, on_deposed has returned before the lock is released.
 *
 * Owns     borrows the lock, of any kind, which holds nothing and is the leader's alone until it is
 *          closed. Each competing leader has a lock of its own on the same key.
 * Returns  NULL with err filled: INVALID (no lock, a held one, a closed client, a bad lease), NO_MEMORY.
 * Threads  the functions below: any; not in a child of fork(), which never leads.
 * Source   Curator LeaderLatch and LeaderSelector; client-go leaderelection.
 */
lk_leader *lk_leader_new(lk_lock *lock, const struct lk_leader_options *options,
                         struct lk_error *err);

/* Whether it leads by the local clock: from before on_elected until the lease is over, or it resigns or is
   closed. No I/O. */
bool lk_leader_is_leading(const lk_leader *leader);

/* The fencing token while it leads; 0: it does not, or the kind of lock has none. No I/O. */
uint64_t lk_leader_fence(const lk_leader *leader);

/* Give leadership up, if it leads: on_deposed is called soon, then the lock is given back. It campaigns again
   two seconds after that, so that waiters have had their chance. */
void lk_leader_resign(lk_leader *leader);

/*
 * End the campaign or the leadership, and the thread: at once, but for a hook that has not returned, and
 * for a command under way to a server that does not answer (command_ms).
 *
 * Owns     takes the leader, but when INVALID; NULL is fine. The lock is idle then, and still yours.
 * Returns  OK; INVALID: called by a hook of this leader, and nothing was done; else why the lock was
 *          perhaps not given back, as lk_lock_release(): its lease ends it.
 */
lk_status lk_leader_close(lk_leader *leader, struct lk_error *err);

#ifdef __cplusplus
}
#endif
#endif
