/*
 * Regain lost votes of a renewed redlock, so that it survives when its servers are restarted empty, one after
 * the other. Before a lost vote is asked for again (where no other owner has the key), a majority of votes
 * that never lapsed must have been confirmed after the loss; before the regained vote counts, they must have
 * been confirmed once more. So up to the last confirmation no other owner had a majority (model/redlock.pml).
 *
 * Threads: the watchdogs' of the members' clients; begin and end: the lock's. Locks: the redlock's, and in it
 * those of watchdogs, for a moment.
 */
#include "base/clock.h"
#include "redlock.h"
#include "wire/pending_undo.h"
#include "wire/pool.h"

enum { ASK_PART = 3 }; /* a lost vote is asked for during this part of the lease */

/* The moment until which a majority of votes is known not to have lapsed. */
static int64_t confirmed_until(const struct redlock *self)
{
    int64_t confirmed[LKI_QUORUM_SERVERS_MAX];

    for (size_t i = 0; i < self->count; i++) {
        const struct redlock_member *member = &self->members[i];
        bool counts = atomic_load(&member->vote) == LKI_VOTE_COUNTED;

        confirmed[i] = counts ? atomic_load(&member->confirmed_at) : 0;
    }
    return lki_redlock_majority(self, confirmed);
}

/* Have the watchdog renew this member at once, unless it is doing so. */
static void confirm_now(struct redlock_member *member)
{
    struct lki_watchdog *watchdog = member->base.client->watchdog;

    if (lki_watchdog_remove_by(watchdog, &member->base, 0)) member->base.lease.is_suspect = true;
    if (lki_watchdog_add(watchdog, &member->base, NULL) != LK_OK)
        (void)lki_hold_lose(&member->base);
}

/* Ask for the vote again. While the watchdog still reports the loss, this waits for the next confirmation. */
static void ask(struct redlock_member *member)
{
    lk_lock *lock = &member->base;
    struct lki_watchdog *watchdog = lock->client->watchdog;

    if (!lki_watchdog_remove_by(watchdog, lock, 0)) return;
    lock->ops = member->redlock->regain_ops;
    lock->lease.is_suspect = true;
    atomic_store(&lock->expires_at, lki_clock_after_ms(lock->lease_ms / ASK_PART));
    atomic_store(&member->vote, LKI_VOTE_ASKED);
    atomic_store(&lock->state, LOCK_HELD);
    member->is_watched = lki_watchdog_add(watchdog, lock, NULL) == LK_OK;
}

static void regain_member(struct redlock_member *member, int64_t confirmed, bool is_urgent)
{
    int vote = atomic_load(&member->vote);
    bool is_confirmed = atomic_load(&member->since) < confirmed;

    if (vote == LKI_VOTE_REGAINED && is_confirmed) {
        (void)atomic_compare_exchange_strong(&member->vote, &vote, LKI_VOTE_COUNTED);
    } else if (vote == LKI_VOTE_LOST && is_confirmed) {
        ask(member);
    } else if (vote == LKI_VOTE_COUNTED && is_urgent) {
        confirm_now(member);
    }
}

void lki_redlock_regain_votes(struct redlock *self, bool is_urgent)
{
    (void)pthread_mutex_lock(&self->mutex);
    int64_t confirmed = confirmed_until(self);
    for (size_t i = 0; i < self->count && self->is_regaining; i++)
        regain_member(&self->members[i], confirmed, is_urgent);
    (void)pthread_mutex_unlock(&self->mutex);
}

void lki_redlock_begin_regain(struct redlock *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    self->is_regaining = self->base.is_renewed && self->regain_ops;
    (void)pthread_mutex_unlock(&self->mutex);
}

void lki_redlock_end_regain(struct redlock *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    self->is_regaining = false;
    for (size_t i = 0; i < self->count; i++) {
        int asked = LKI_VOTE_ASKED;

        (void)atomic_compare_exchange_strong(&self->members[i].vote, &asked, LKI_VOTE_LOST);
    }
    (void)pthread_mutex_unlock(&self->mutex);
}

bool lki_redlock_regained(struct redlock_member *member, lk_status status)
{
    lk_lock *lock = &member->base;
    int asked = LKI_VOTE_ASKED;

    if (lock->ops != member->redlock->regain_ops || status == LK_LOST) return false;
    if (atomic_load(&member->redlock->base.state) !=
        LOCK_HELD) { /* the release may have run before the vote was granted */
        int64_t until = lki_clock_after_ms(lock->lease_ms);
        struct lki_pending_undo *undo =
            lki_redlock_pending_undo(member, lock->token, "redlock_undo", until);

        if (undo) lki_pool_undo_later(lki_context_pool(lock->client), undo);
        return false;
    }
    if (status != LK_OK) return false;
    atomic_store(&member->since, lki_clock_now());
    if (!atomic_compare_exchange_strong(&member->vote, &asked, LKI_VOTE_REGAINED)) return false;
    lock->ops = member->redlock->member_ops;
    return true;
}
